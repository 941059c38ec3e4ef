# SPDX-License-Identifier: Apache-2.0

"""Scheduler weighers, by the names used in ``weight_classes``."""

from nova_rt.scheduler.weights.rt_chr_weigher import RTCHRWeigher
from nova_rt.scheduler.weights.rt_interference_weigher import (
    RTInterferenceWeigher)
from nova_rt.scheduler.weights.rt_share_weigher import RTShareWeigher

__all__ = ['RTCHRWeigher', 'RTInterferenceWeigher', 'RTShareWeigher']
