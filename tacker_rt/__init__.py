# SPDX-License-Identifier: Apache-2.0

"""Real-time CPU reservations in VNF descriptors, for OpenStack Tacker.

``vnfd`` reads descriptors without any code of OpenStack.  ``heat`` and
``userdata`` hand reservations to Heat on the two paths through Tacker.
``cmd`` is the command ``tacker-rt``.
"""
