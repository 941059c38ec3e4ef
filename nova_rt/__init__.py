# SPDX-License-Identifier: Apache-2.0

"""Real-time CPU reservations for unmodified OpenStack Nova.

The driver to name in ``[DEFAULT] compute_driver`` is
``nova_rt.RTLibvirtDriver``; see ``nova_rt.services.install``.
"""
