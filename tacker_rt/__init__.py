# SPDX-License-Identifier: Apache-2.0

"""Real-time CPU reservations in VNF descriptors, for OpenStack Tacker.

``vnfd`` reads them, with nothing of OpenStack; ``heat`` and ``userdata`` hand
them to Heat on the two paths through Tacker; ``cmd`` is ``tacker-rt``.
"""
