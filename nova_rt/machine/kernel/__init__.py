# SPDX-License-Identifier: Apache-2.0

"""Drives the kernel: each kernel interface has a module of its own.

Of OpenStack, this package uses only oslo.privsep, by
``nova_rt.machine.privsep``, through which the services write.  The interfaces
are entry points of the group ``nova_rt.kernel``; ``detect`` finds the one of
the running kernel.
"""
