# SPDX-License-Identifier: Apache-2.0

"""How far ``rt-probe`` is from the truth, and what it costs.

The truth is what a busy loop in the same group gets, by cpuacct, read from
outside; never the quota that was written.
"""
