# SPDX-License-Identifier: Apache-2.0

"""What a compute node tells the schedulers and Placement about its pCPUs.

Pure code: the names, and the text form of the per-pCPU map that travels in
``ComputeNode.stats``.
"""

from collections.abc import Mapping
import dataclasses
import functools
import json
from typing import Any

from nova_rt import cpus
from nova_rt import reservation

#: Placement: ppm of one pCPU, one inventory on the compute's root provider.
RESOURCE_CLASS = 'CUSTOM_RT_BANDWIDTH'
TRAIT = 'CUSTOM_HCBS'

#: Keys of ComputeNode.stats; the first two are the paper's columns.
SHARE = 'rt_share'
SHARE_USED = 'rt_share_used'
MAP = 'rt_map'


@dataclasses.dataclass(frozen=True, slots=True)
class HostMap:
    """The state of a host and the name of the policy it packs by."""

    state: cpus.CpuBandwidth
    policy: str


#: Many hosts have the same pCPUs.
_ids = functools.lru_cache(cpus.parse_ids)


def _decimal(ppm: int) -> str:
    return f'{ppm / reservation.PPM:.3f}'


def to_stats(host: HostMap) -> dict[str, str]:
    """Stats of a host: shares in pCPUs, and the map as JSON.

    4 KB for 512 pCPUs, in a column of 64 KiB.
    """
    state = host.state
    return {
        SHARE: _decimal(state.total),
        SHARE_USED: _decimal(state.total_used),
        MAP: json.dumps(
            {'cpus': cpus.format_ids(state.cpus), 'used': state.used,
             'cap': state.cap, 'charged': state.charged,
             'replicated': state.replicated, 'policy': host.policy},
            separators=(',', ':')),
    }


def from_stats(stats: Mapping[str, Any]) -> HostMap | None:
    """The inverse of :func:`to_stats`.

    :returns: None for a host without the plugin or with a map we cannot
        read, which is no host for a reservation
    """
    text = stats.get(MAP)
    return _decode(text) if isinstance(text, str) else None


# Between two requests few maps change; Placement names 1000 hosts at most.
@functools.lru_cache(maxsize=2048)
def _decode(text: str) -> HostMap | None:
    try:
        data = json.loads(text)
        ids, used = _ids(data['cpus']), data['used']
        if len(ids) != len(used) or sum(used, data['cap']) < 0:
            return None
        state = cpus.CpuBandwidth(ids, data['cap'], tuple(used),
                                  data['charged'], data['replicated'])
        return HostMap(state, data['policy'])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
