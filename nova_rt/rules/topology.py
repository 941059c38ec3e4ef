# SPDX-License-Identifier: Apache-2.0

"""Finds what the extra specs of a flavor say about NUMA cells.

nova-compute and nova-scheduler ask Nova for the topology of a server.  The
command line reads flavors where no Nova is installed; a test compares its
answers with Nova's.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import mask

_POLICY, _MIXED = 'hw:cpu_policy', 'mixed'
_DEDICATED = 'hw:cpu_dedicated_mask'
_EMULATOR, _ISOLATE = 'hw:emulator_threads_policy', 'isolate'
#: The keys with which Nova gives a server a topology.
_KEYS = ('hw:numa_nodes', 'hw:mem_page_size')


def is_wanted(extra_specs: Mapping[str, Any]) -> bool:
    """Checks whether Nova gives servers of a flavor a NUMA topology.

    Properties of an image can also ask for a topology.
    """
    return is_mixed(extra_specs) or any(key in extra_specs for key in _KEYS)


def is_mixed(extra_specs: Mapping[str, Any]) -> bool:
    """Checks whether Nova dedicates pCPUs to some of the vCPUs only."""
    return extra_specs.get(_POLICY) == _MIXED


def dedicated(extra_specs: Mapping[str, Any], vcpus: int) -> frozenset[int]:
    """Returns the vCPUs to which Nova dedicates pCPUs.

    :param vcpus: the number of vCPUs of the flavor
    :raises InvalidReservation: when the mask is bad
    """
    if not is_mixed(extra_specs) or _DEDICATED not in extra_specs:
        return frozenset()
    return frozenset(mask.named_by(
        extra_specs[_DEDICATED], vcpus, _DEDICATED))


def placement_amounts(extra_specs: Mapping[str, Any], vcpus: int
                      ) -> dict[str, int]:
    """Returns how much VCPU and PCPU Nova requests from Placement.

    :param vcpus: the number of vCPUs of the flavor
    :raises InvalidReservation: when a mask is bad
    """
    own = len(dedicated(extra_specs, vcpus))
    emulator = own > 0 and extra_specs.get(_EMULATOR) == _ISOLATE
    amounts = {'VCPU': vcpus - own, 'PCPU': own + emulator}
    return {name: amount for name, amount in amounts.items() if amount}
