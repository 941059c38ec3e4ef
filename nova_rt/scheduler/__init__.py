# SPDX-License-Identifier: Apache-2.0

"""The names that ``nova.conf`` of nova-scheduler has; they stay as they are.

The code is in ``nova_rt.services.scheduler``.
"""
