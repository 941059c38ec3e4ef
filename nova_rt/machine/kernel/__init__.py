# SPDX-License-Identifier: Apache-2.0

"""Driving the kernel: one module for each interface to reserve CPU time.

Nothing of OpenStack is imported here but ``nova_rt.machine.privsep``, which
writes.  The interfaces are entry points of the group ``nova_rt.kernel``;
``detect`` finds the one of the running kernel.
"""
