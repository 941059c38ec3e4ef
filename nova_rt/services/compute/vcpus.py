# SPDX-License-Identifier: Apache-2.0

"""Says which vCPUs of a server its reservation is for, by the flavor.

The scheduler and nova-compute ask here, so that both count the same vCPUs.
"""

import dataclasses
from typing import Any

from nova_rt.rules import hostmap
from nova_rt.rules import mask


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


def split(flavor: Any) -> Split:
    """Returns how a reservation splits the vCPUs of a flavor.

    :param flavor: an objects.Flavor
    :raises InvalidReservation: when the mask of the flavor is bad
    """
    unreserved = mask.unreserved(flavor.extra_specs, flavor.vcpus)
    return Split(flavor.vcpus - len(unreserved), unreserved,
                 frozenset((hostmap.MASK,) if unreserved else ()))
