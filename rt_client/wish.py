# SPDX-License-Identifier: Apache-2.0

"""A server that somebody wants, and why a host has no room for the server."""

from collections.abc import Iterator, Mapping
import dataclasses
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import mask
from nova_rt.rules import reservation
from nova_rt.rules import room
from nova_rt.rules import smt
from nova_rt.rules import soft
from nova_rt.rules import topology
from nova_rt.rules import words

#: What the answers do not count, for a server with a NUMA topology.
CELLS = ('NUMA cells, huge pages and devices are not counted here, so that '
         'fewer servers may fit')
_LACKS = {
    hostmap.NUMA: 'the host takes no flavor with NUMA cells or a page size',
    hostmap.MASK: f'the host takes no flavor with {reservation.MASK_KEY}',
    hostmap.CORE: f'the host takes no flavor with {reservation.SMT_KEY}=core',
    hostmap.SOFT: f'the host takes no flavor with '
                  f'{reservation.KIND_KEY}=soft'}


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """A server that somebody wants.

    :ivar vcpus: the number of vCPUs with the reservation
    :ivar others: amounts of Nova's own resource classes
    :ivar needs: what the host must take, as in HostMap.takes
    """

    vcpus: int
    reservation: reservation.Reservation
    others: Mapping[str, int] = dataclasses.field(default_factory=dict)
    needs: frozenset[str] = frozenset()

    @property
    def has_topology(self) -> bool:
        """True for a server with a NUMA topology."""
        return hostmap.NUMA in self.needs

    @property
    def reserved(self) -> dict[str, int]:
        """The amounts of the resource classes of nova-rt."""
        return hostmap.amounts(self.vcpus, self.reservation.bandwidth)

    @property
    def amounts(self) -> dict[str, int]:
        """The amounts of all resource classes."""
        return {**self.others, **self.reserved}


def from_flavor(specs: Mapping[str, Any], vcpus: int,
                wanted: reservation.Reservation, ram_mb: int = 0,
                disk_gb: int = 0) -> Wish:
    """Returns the server that a flavor makes.

    :param specs: the extra specs of the flavor
    :param vcpus: the number of vCPUs of the flavor, with or without a
        reservation
    :raises InvalidReservation: when the mask, the request about siblings, or
        the kind of the reservation is not valid
    """
    unreserved = topology.dedicated(specs, vcpus).union(
        mask.unreserved(specs, vcpus))
    others = {**topology.placement_amounts(specs, vcpus),
              'MEMORY_MB': ram_mb, 'DISK_GB': disk_gb}
    needs = {hostmap.MASK: bool(unreserved),
             hostmap.NUMA: topology.is_wanted(specs),
             hostmap.CORE: smt.needs_core(specs),
             hostmap.SOFT: soft.is_soft(specs)}
    return Wish(
        vcpus - len(unreserved), wanted,
        {name: amount for name, amount in others.items() if amount},
        frozenset(name for name, is_needed in needs.items() if is_needed))


def offers_nothing(published: hostmap.HostMap | None) -> str:
    """Returns why a host takes no reservation at all; '' if it takes some."""
    if published is not None and published.state.total:
        return ''
    reason = published.reason if published is not None else ''
    return 'the host offers no reservations' + (f': {reason}' * bool(reason))


def refusals(published: hostmap.HostMap, wish: Wish) -> Iterator[str]:
    """Yields the reasons why a host that takes reservations has no room."""
    for name in sorted(wish.needs - published.takes):
        yield _LACKS[name]
    if not cpus.fits(published.state, wish.vcpus, wish.reservation):
        yield _no_room(published.state, wish)


def _no_room(state: cpus.CpuBandwidth, wish: Wish) -> str:
    if wish.reservation.runtime_us < state.min_runtime_us:
        return ('the kernel cannot keep a runtime below '
                f'{state.min_runtime_us} us')
    if wish.reservation.bandwidth > state.cap:
        return (f'the share is above the cap of '
                f'{reservation.decimal(state.cap)}')
    if cpus.is_late(state, wish.vcpus, wish.reservation):
        return cpus.LATE
    if wish.vcpus > len(state.cpus):
        return (f'the server reserves for {words.count(wish.vcpus, "vCPU")}, '
                f'the host has {words.count(len(state.cpus), "pCPU")} for '
                f'reservations')
    if state.replicated:
        return room.sold(state)
    best = reservation.decimal(max(0, *map(state.free, state.cpus)))
    if wish.vcpus == 1 and not state.counts_cores:
        return f'the emptiest pCPU has {best} free'
    return (f'fewer than {wish.vcpus} pCPUs have room; the emptiest has '
            f'{best} free')
