# SPDX-License-Identifier: Apache-2.0

"""Drives the kernel: each kernel interface has a module of its own.

The only library of OpenStack that this package uses is oslo.privsep, by way of
``nova_rt.machine.privsep``, which writes for the services.  The interfaces are
entry points of the group ``nova_rt.kernel``; ``detect`` finds the one of the
running kernel.
"""
