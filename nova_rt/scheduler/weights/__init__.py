# SPDX-License-Identifier: Apache-2.0

"""Scheduler weighers, by the names used in ``weight_classes``."""

from nova_rt.scheduler.weights.rt_share_weigher import RTShareWeigher

__all__ = ['RTShareWeigher']
