# SPDX-License-Identifier: Apache-2.0

"""Describes the pCPUs of a compute node for the schedulers and Placement.

This module has the names, the inventories, the amounts that a server takes,
and the text form of the per-pCPU map in ``ComputeNode.stats``.
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping
import dataclasses
import functools
import json
from typing import Any

from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.rules import words

#: Resource classes of the compute's root provider in Placement, in ppm of one
#: pCPU: the sum over the vCPUs of a server, and the share of one vCPU.  The
#: sum limits hosts where a claim counts on its own pCPUs; the share limits
#: hosts where a claim counts on every pCPU.
RESOURCE_CLASS = 'CUSTOM_RT_BANDWIDTH'
SHARE_CLASS = 'CUSTOM_RT_SHARE'
CLASSES = (RESOURCE_CLASS, SHARE_CLASS)
TRAIT = 'CUSTOM_HCBS'
#: The trait of hosts where each vCPU is SCHED_DEADLINE on its own pCPU.
PINNED_TRAIT = 'CUSTOM_SCHED_DEADLINE_PINNED'
#: The trait of hosts that take soft reservations, see rules.soft.
SOFT_TRAIT = 'CUSTOM_RT_SOFT'
TRAITS = frozenset((TRAIT, PINNED_TRAIT, SOFT_TRAIT))

#: Keys of ComputeNode.stats; the first two are the paper's columns.
SHARE = 'rt_share'
SHARE_USED = 'rt_share_used'
MAP = 'rt_map'

#: The version of the map.  If the meaning of a key changes, the map needs a
#: new version.  A new key needs none, because readers ignore unknown keys.
#: The keys ``fixed``, ``servers``, ``takes``, ``smt`` and ``cores`` were added
#: without a new version.  A scheduler that does not know these keys passes
#: hosts by the sum, and the claim decides.  ``min_divided_us`` was added, too:
#: a scheduler that does not know this key divides nothing and passes fewer
#: hosts.
VERSION = 1

#: What a host may take besides reservations for all vCPUs of a server.  A host
#: with an older nova-rt publishes only the words that its version knows, and
#: so gets no server that its version would refuse.
MASK = 'mask'
#: Servers with a NUMA topology.
NUMA = 'numa'
CORE = 'core'
#: Soft reservations.
SOFT = 'soft'
#: Servers for which the host makes room by moves of vCPUs.
MOVES = 'moves'

#: The greatest length of the map: the column of all stats holds 64 KiB.
_MAX_LENGTH = 60_000

#: The greatest length of the name of a domain, which anybody may have given.
_NAME_LENGTH = 80
_REASON_LENGTH = 400

_Servers = dict[int, tuple[reservation.Reservation, ...]]


@dataclasses.dataclass(frozen=True, slots=True)
class Stranger:
    """A guest that holds a budget, and that Nova does not have on this host.

    :ivar uuid: the uuid of the domain
    :ivar name: the name of the domain in libvirt
    :ivar shares: the reservations that the guest holds, and their pCPUs
    :ivar elsewhere: where Nova's database has the server: "on host1", or "on
        no host"; '' if the database has no such server
    """

    uuid: str
    name: str
    shares: tuple[cpus.Claim, ...]
    elsewhere: str = ''

    def __str__(self) -> str:
        return f'{self.name} ({self.uuid})'

    @property
    def holds(self) -> str:
        """The reservations that the guest holds, as a text."""
        return ' and '.join(
            f'{share} on {words.ids(sorted(ids))}'
            for ids, share in self.shares)


@dataclasses.dataclass(frozen=True)
class HostMap:
    """The state of a host and the name of its packing policy.

    :ivar strangers: the guests that *state* counts in addition to claims
    :ivar release: the version of nova-rt that published the map, for people;
        '' if that version published no release
    :ivar interface: the kernel interface by which the host enforces
        reservations; '' if there is none
    :ivar reason: why the host takes no reservations; '' if it takes them
    :ivar takes: what the host takes besides reservations for all vCPUs of a
        server, for example MASK

    The release, the interface and the reason are for people, except in
    *reads_masks*.  Maps that differ only in these values are equal.
    """

    state: cpus.CpuBandwidth
    policy: str
    strangers: tuple[Stranger, ...] = ()
    release: str = dataclasses.field(default='', compare=False)
    interface: str = dataclasses.field(default='', compare=False)
    reason: str = dataclasses.field(default='', compare=False)
    takes: frozenset[str] = frozenset()

    @property
    def reads_masks(self) -> bool:
        """Tells whether nova-compute of the host reads claims with a mask.

        Versions that read masks publish what they take, the interface, or the
        reason why they take nothing.
        """
        return bool(self.takes or self.interface or self.reason)

    @functools.cached_property
    def left(self) -> float:
        """The part of the time of all pCPUs that is not reserved.

        The value is cached, because schedulers need it often.
        """
        used = self.state.used
        if not used:
            return 1.0
        return max(0.0, 1 - sum(used) / (reservation.PPM * len(used)))


def amounts(vcpus: int, bandwidth: int) -> dict[str, int]:
    """Returns the amount of each resource class that a server takes.

    :param vcpus: the number of vCPUs with a reservation
    :param bandwidth: the ppm of each of these vCPUs
    """
    return {RESOURCE_CLASS: vcpus * bandwidth, SHARE_CLASS: bandwidth}


def inventories(empty: cpus.CpuBandwidth,
                strangers: Iterable[Stranger] = ()
                ) -> dict[str, dict[str, Any]]:
    """Returns the amount of each resource class that a host offers.

    A replicated host has one pool of shares.  Any other host has a pool for
    each pCPU, or for each core if the threads of a core count together, so
    that the shares never run out before the sum does.

    :param strangers: guests whose bandwidth is not allocated in Placement
    """
    pcpus = empty.pools
    pools = 1 if empty.replicated else pcpus
    taken = collections.Counter[str]()
    for stranger in strangers:
        for ids, share in stranger.shares:
            taken.update(amounts(len(ids), share.bandwidth))
    return {
        RESOURCE_CLASS: _inventory(pcpus, empty.cap, empty.total,
                                   taken[RESOURCE_CLASS]),
        SHARE_CLASS: _inventory(pools, empty.cap, empty.cap,
                                taken[SHARE_CLASS])}


def _inventory(pcpus: int, cap: int, max_unit: int, taken: int
               ) -> dict[str, Any]:
    """Returns an inventory of whole pCPUs.

    The bandwidth above the cap, and *taken*, is reserved.
    """
    total = pcpus * reservation.PPM
    return {'total': total,
            'reserved': min(total, total - pcpus * cap + taken),
            'min_unit': 1, 'max_unit': max_unit, 'step_size': 1,
            'allocation_ratio': 1.0}


# The results are cached, because many hosts have the same pCPUs.
_ids = functools.lru_cache(cpulist.parse_ids)
_known: Callable[[tuple[int, ...]], frozenset[int]] = functools.lru_cache(
    frozenset)


def to_stats(host: HostMap) -> dict[str, str]:
    """Returns the stats of a host: shares in pCPUs, and the map as JSON.

    The map has 4 KB for 512 pCPUs.  A host with so many different
    reservations that the map exceeds the column takes no more reservations.
    """
    state, text = host.state, _encode(host)
    if len(text) > _MAX_LENGTH:
        text = _encode(HostMap(
            cpus.CpuBandwidth.empty((), 0), host.policy,
            release=host.release, interface=host.interface,
            reason='there are too many different reservations here for the '
                   'map of the host'))
    return {SHARE: reservation.decimal(state.total),
            SHARE_USED: reservation.decimal(state.total_used), MAP: text}


def _encode(host: HostMap) -> str:
    state, rule = host.state, host.state.rule
    data = {'version': VERSION, 'cpus': cpulist.format_ids(state.cpus),
            'used': state.used, 'cap': state.cap, 'charged': state.charged,
            'replicated': state.replicated, 'policy': host.policy}
    if state.cores and state.smt is not cpus.Smt.IGNORE:
        data |= {'smt': state.smt, 'cores': state.cores}
    if state.min_runtime_us > 1:
        data['min_runtime_us'] = state.min_runtime_us
    if rule is not None:
        data |= {'fixed': dataclasses.astuple(rule),
                 'servers': list(_listed(state))}
    if rule is not None and state.min_divided_us:
        data['min_divided_us'] = state.min_divided_us
    if host.strangers:
        data['strangers'] = [
            (stranger.uuid, stranger.name[:_NAME_LENGTH],
             [(share.runtime_us, share.period_us, list(ids))
              for ids, share in stranger.shares])
            for stranger in host.strangers]
    elsewhere = {stranger.uuid: stranger.elsewhere[:_NAME_LENGTH]
                 for stranger in host.strangers if stranger.elsewhere}
    for key, text in (('release', host.release[:_NAME_LENGTH]),
                      ('interface', host.interface[:_NAME_LENGTH]),
                      ('reason', host.reason[:_REASON_LENGTH])):
        if text:
            data[key] = text
    if elsewhere:
        data['elsewhere'] = elsewhere
    if host.takes:
        data['takes'] = sorted(host.takes)
    return json.dumps(data, separators=(',', ':'))


def _listed(state: cpus.CpuBandwidth
            ) -> Iterator[tuple[int, int, list[int]]]:
    """Yields each reservation: runtime, period, and its pCPU ids.

    A pCPU with several equal reservations is listed several times.
    """
    places: dict[reservation.Reservation, list[int]] = (
        collections.defaultdict(list))
    for cpu, shares in sorted(state.servers.items()):
        for share in shares:
            places[share].append(cpu)
    for share, ids in sorted(places.items()):
        yield share.runtime_us, share.period_us, ids


def _servers(known: frozenset[int], listed: list[Any]) -> _Servers:
    """Returns the reservations of each pCPU; the inverse of :func:`_listed`.

    :raises ValueError: when a pCPU is not *known*
    """
    servers: _Servers = {}
    for runtime_us, period_us, ids in listed:
        wanted = _reservation(runtime_us, period_us)
        if not known.issuperset(ids):
            raise ValueError(f'{ids} are not all in {known}')
        for cpu in ids:
            shares = servers.get(cpu)
            servers[cpu] = (tuple(sorted((*shares, wanted))) if shares
                            else (wanted,))
    return servers


def _strangers(listed: list[Any], elsewhere: dict[str, Any]
               ) -> Iterator[Stranger]:
    for uuid, name, shares in listed:
        yield Stranger(str(uuid), str(name), tuple(
            (tuple(ids), _reservation(runtime_us, period_us))
            for runtime_us, period_us, ids in shares),
            str(elsewhere.get(uuid, '')))


# Many servers have the same flavor.
@functools.lru_cache(maxsize=4096)
def _reservation(runtime_us: int, period_us: int) -> reservation.Reservation:
    if not 0 < runtime_us <= period_us:
        raise ValueError(f'{runtime_us}/{period_us} is not a reservation')
    return reservation.Reservation(runtime_us, period_us)


def _cores(data: dict[str, Any], count: int) -> tuple[int, ...]:
    """Returns the core of each of *count* pCPUs; () if no two share a core.

    :raises ValueError: when there is not one for each pCPU
    """
    cores = tuple(map(int, data.get('cores', ())))
    if cores and len(cores) != count:
        raise ValueError(f'{cores} are not {count} cores')
    return cores


def _rule(data: dict[str, Any]) -> schedulability.FixedPriorities | None:
    """Returns the rule of a map; None if the host admits by the sum.

    :raises ValueError: when the numbers are not a rule
    """
    if 'fixed' not in data:
        return None
    numbers = data['fixed']
    if min(numbers) < 0 or numbers[0] < 1:
        raise ValueError(f'{numbers} is not a rule')
    return schedulability.FixedPriorities(*numbers)


def from_stats(stats: Mapping[str, Any]) -> HostMap | None:
    """Returns the map of a host from its stats.

    :returns: None if the host publishes no map, a map of another version, or
        a map that cannot be read; such a host gets no reservations
    """
    text = stats.get(MAP)
    return _decode(text) if isinstance(text, str) else None


# Between two requests few maps change.  Placement returns at most 1000 hosts.
@functools.lru_cache(maxsize=2048)
def _decode(text: str) -> HostMap | None:
    try:
        data = json.loads(text)
        ids, used = _ids(data['cpus']), data['used']
        if (data['version'] != VERSION or len(ids) != len(used)
                or sum(used, data['cap']) < 0):
            return None
        rule = _rule(data)
        state = cpus.CpuBandwidth(
            ids, data['cap'], tuple(used), data['charged'],
            data['replicated'], rule,
            _servers(_known(ids), data['servers']) if rule else {},
            int(data.get('min_runtime_us', 1)), _cores(data, len(ids)),
            cpus.Smt(data.get('smt', cpus.Smt.IGNORE)),
            int(data.get('min_divided_us', 0)) if rule else 0)
        return HostMap(state, data['policy'],
                       tuple(_strangers(data.get('strangers', []),
                                        data.get('elsewhere', {}))),
                       str(data.get('release', '')),
                       str(data.get('interface', '')),
                       str(data.get('reason', '')),
                       frozenset(map(str, data.get('takes', ()))))
    except (AttributeError, KeyError, TypeError, ValueError,
            RecursionError):
        return None
