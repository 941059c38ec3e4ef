# SPDX-License-Identifier: Apache-2.0

"""The rules: pure code on integers, without a machine or OpenStack.

The parser of reservations, the accounting of pCPUs, the fit function, the
packing policies, the host map, and the errors of the whole project.
"""
