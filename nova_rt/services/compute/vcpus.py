# SPDX-License-Identifier: Apache-2.0

"""Finds the vCPUs of a server that have its reservation, by the flavor.

The scheduler and nova-compute both use this module, so that both count the
same vCPUs.
"""

import dataclasses
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import mask
from nova_rt.rules import reservation
from nova_rt.rules import smt
from nova_rt.rules import soft


@dataclasses.dataclass(frozen=True, slots=True)
class Split:
    """The vCPUs of a flavor with and without the reservation.

    :ivar reserved: the number of vCPUs with the reservation
    :ivar unreserved: the indices of the vCPUs without it, ascending
    :ivar needs: what a host must take for this flavor, see HostMap.takes
    """

    reserved: int
    unreserved: tuple[int, ...] = ()
    needs: frozenset[str] = frozenset()

    @property
    def is_soft(self) -> bool:
        """True for a soft reservation."""
        return hostmap.SOFT in self.needs


def split(flavor: Any, topology: Any = None) -> Split:
    """Returns how a reservation splits the vCPUs of a flavor.

    :param flavor: an objects.Flavor
    :param topology: the objects.InstanceNUMATopology of the server, or None;
        vCPUs to which Nova dedicates pCPUs have no reservation
    :raises InvalidReservation: when the mask of the flavor is bad, or leaves
        no vCPU on shared pCPUs, or when its value for siblings or for the
        kind of the reservation is bad
    """
    masked = mask.unreserved(flavor.extra_specs, flavor.vcpus)
    dedicated = _dedicated(topology)
    unreserved = tuple(sorted(dedicated.union(masked)))
    if len(unreserved) == flavor.vcpus:
        raise exception.InvalidReservation(
            source=reservation.FLAVOR, key=reservation.MASK_KEY,
            value=repr(flavor.extra_specs.get(reservation.MASK_KEY)),
            rule='every vCPU that the reservation is for has a dedicated '
            'pCPU', advice='name vCPUs that hw:cpu_dedicated_mask leaves '
                           'without a dedicated pCPU')
    needs = {hostmap.MASK: bool(unreserved),
             hostmap.NUMA: topology is not None,
             hostmap.CORE: smt.needs_core(flavor.extra_specs),
             hostmap.SOFT: soft.is_soft(flavor.extra_specs)}
    return Split(flavor.vcpus - len(unreserved), unreserved,
                 frozenset(name for name, is_needed in needs.items()
                           if is_needed))


def _dedicated(topology: Any) -> set[int]:
    """Returns the vCPUs to which Nova dedicates pCPUs."""
    return set().union(*(
        cell.pcpuset for cell in (topology.cells if topology else ())))
