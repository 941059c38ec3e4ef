# SPDX-License-Identifier: Apache-2.0

"""``rt-probe``: how much CPU a virtual machine, container or pod has.

Runs inside of it, as an ordinary user, with the standard library alone, so
nothing of OpenStack is imported here, and of nova_rt only ``host``.  What it
tells are a tenant's words: no part of a cloud takes them for decisions.

Two quantities are never mixed.  *Speed* is the CPU time of a reference task
against a calibration (``speed``).  *Share* is CPU time against wall time.
"""
