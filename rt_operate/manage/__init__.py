# SPDX-License-Identifier: Apache-2.0

"""Compares claims, allocations and budgets, and repairs Placement.

``nova-rt-manage`` and ``nova-rt-status`` use this package.  Like nova-manage,
the package reads Nova's databases and Placement, and never asks nova-compute.
"""
