# SPDX-License-Identifier: Apache-2.0

"""How pCPUs are chosen: the policies and the defragmentation planner.

Pure code.  Policies are entry points of the group ``nova_rt.packing``, so
that an operator can add one.
"""
