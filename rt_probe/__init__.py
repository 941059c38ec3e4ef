# SPDX-License-Identifier: Apache-2.0

"""``rt-probe`` measures how much CPU a machine, container or pod has.

The probe runs inside the guest as an ordinary user, and needs only the
standard library.  This package therefore imports nothing of OpenStack, and of
nova_rt only ``machine.host``.  A report is a statement of the tenant: no part
of a cloud bases decisions on it.

The probe never mixes two quantities.  *Speed* compares the CPU time of a
reference task with a calibration (``speed``).  *Share* is CPU time divided by
wall time.
"""
