# SPDX-License-Identifier: Apache-2.0

"""Weighers of nova-scheduler that weigh by models.

``nova_rt.scheduler.weights`` has their public names.
"""
