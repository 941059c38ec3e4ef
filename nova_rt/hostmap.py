# SPDX-License-Identifier: Apache-2.0

"""What a compute node tells the schedulers and Placement about its pCPUs.

Pure code: the names, and the text form of the per-pCPU map that travels in
``ComputeNode.stats``.
"""

from collections.abc import Mapping
import dataclasses
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
KEYS = (SHARE, SHARE_USED, MAP)


@dataclasses.dataclass(frozen=True, slots=True)
class HostMap:
    """The state of a host and the name of the policy it packs by."""

    state: cpus.CpuBandwidth
    policy: str


def _decimal(ppm: int) -> str:
    return f'{ppm / reservation.PPM:.3f}'


def to_stats(host: HostMap) -> dict[str, str]:
    """Stats of a host: shares in pCPUs, and the map as JSON.

    ``used`` is a list by pCPU id, null for pCPUs that cannot be reserved:
    4 KB for 512 pCPUs, in a column of 64 KiB.
    """
    state = host.state
    top = max(state.cpus, default=-1)
    ours = frozenset(state.cpus)
    used = [state.used.get(cpu, 0) if cpu in ours else None
            for cpu in range(top + 1)]
    return {
        SHARE: _decimal(state.total),
        SHARE_USED: _decimal(state.total_used),
        MAP: json.dumps(
            {'cap': state.cap, 'charged': state.charged, 'used': used,
             'replicated': state.replicated, 'policy': host.policy},
            separators=(',', ':')),
    }


def from_stats(stats: Mapping[str, Any]) -> HostMap | None:
    """The inverse of :func:`to_stats`.

    :returns: None for a host without the plugin or with a map we cannot
        read, which is no host for a reservation
    """
    try:
        data = json.loads(stats[MAP])
        used = {cpu: ppm for cpu, ppm in enumerate(data['used'])
                if ppm is not None}
        state = cpus.CpuBandwidth(
            cpus=tuple(used), cap=data['cap'], used=used,
            charged=data['charged'], replicated=data['replicated'])
        return HostMap(state, data['policy'])
    except (KeyError, TypeError, ValueError):
        return None
