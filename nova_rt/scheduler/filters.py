# SPDX-License-Identifier: Apache-2.0

"""Scheduler filters, by the names used in ``available_filters``."""

from nova_rt.services.scheduler.filters.rt_share_filter import RTShareFilter

__all__ = ['RTShareFilter']
