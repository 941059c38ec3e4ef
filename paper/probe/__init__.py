# SPDX-License-Identifier: Apache-2.0

"""Measures how far ``rt-probe`` is from the truth, and what it costs.

The truth is the CPU time that a busy loop in the same group gets, read from
outside by cpuacct; it is never the quota that was written.
"""
