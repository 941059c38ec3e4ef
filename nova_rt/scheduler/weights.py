# SPDX-License-Identifier: Apache-2.0

"""Scheduler weighers, by the names used in ``weight_classes``.

A weigher is imported when ``weight_classes`` names it: two weighers need
``rt_models``, which hosts without these weighers need not have.
"""

import importlib
from typing import Any

_MODULES = {
    'RTCHRWeigher': 'rt_weighers.rt_chr_weigher',
    'RTInterferenceWeigher': 'rt_weighers.rt_interference_weigher',
    'RTShareWeigher': 'nova_rt.services.scheduler.weights.rt_share_weigher',
}


def __getattr__(name: str) -> Any:
    """Returns a weigher by its name.

    :raises AttributeError: when no weigher has the name
    """
    if name not in _MODULES:
        raise AttributeError(f'module {__name__} has no weigher {name}')
    return getattr(importlib.import_module(_MODULES[name]), name)
