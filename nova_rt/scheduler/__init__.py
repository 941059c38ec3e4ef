# SPDX-License-Identifier: Apache-2.0

"""The names for ``nova.conf`` of nova-scheduler, kept for upgrades.

The code is in ``nova_rt.services.scheduler``.
"""
