# SPDX-License-Identifier: Apache-2.0

"""Compares what is claimed, allocated and enforced, and repairs Placement.

For ``nova-rt-manage`` and ``nova-rt-status``: from Nova's databases and from
Placement, as nova-manage does, never from nova-compute.
"""
