# SPDX-License-Identifier: Apache-2.0

"""What a compute node tells the schedulers and Placement about its pCPUs.

Pure code: the names, the inventories and what a server takes of them, and
the text form of the per-pCPU map that travels in ``ComputeNode.stats``.
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

#: Placement, on the compute's root provider, in ppm of one pCPU: the sum over
#: the vCPUs of a server, and the share of one of them.  The sum binds where a
#: claim counts on its own pCPUs, the share where it counts on every pCPU.
RESOURCE_CLASS = 'CUSTOM_RT_BANDWIDTH'
SHARE_CLASS = 'CUSTOM_RT_SHARE'
CLASSES = (RESOURCE_CLASS, SHARE_CLASS)
TRAIT = 'CUSTOM_HCBS'
#: And of hosts where each vCPU is SCHED_DEADLINE on its pCPU.
PINNED_TRAIT = 'CUSTOM_SCHED_DEADLINE_PINNED'
TRAITS = frozenset((TRAIT, PINNED_TRAIT))

#: Keys of ComputeNode.stats; the first two are the paper's columns.
SHARE = 'rt_share'
SHARE_USED = 'rt_share_used'
MAP = 'rt_map'

#: Of the map.  Keys may be added without a new one: readers skip those they
#: do not know.  Whatever changes the meaning of a key takes the next one.
#: ``fixed`` and ``servers`` are such keys: a scheduler that does not know
#: them passes hosts by the sum, and the claim decides.
VERSION = 1

#: Of the map: the column of all stats holds 64 KiB.
_MAX_LENGTH = 60_000

#: Of the name of a domain, which anybody may have given, and of others.
_NAME_LENGTH = 80

_Servers = dict[int, tuple[reservation.Reservation, ...]]


@dataclasses.dataclass(frozen=True, slots=True)
class Stranger:
    """A guest that holds a budget, and that Nova does not have on this host.

    :ivar uuid: of the domain
    :ivar name: of the domain, as libvirt has it
    :ivar held: what each of its pCPUs was given
    :ivar elsewhere: where Nova's database has its server: "on host1", or "on
        no host"; empty where the database has no such server
    """

    uuid: str
    name: str
    held: tuple[cpus.Claim, ...]
    elsewhere: str = ''

    def __str__(self) -> str:
        return f'{self.name} ({self.uuid})'

    @property
    def holds(self) -> str:
        """For people."""
        return ' and '.join(
            f'{each} on pCPU{"s" * (len(ids) > 1)} '
            f'{cpulist.format_ids(sorted(ids))}' for ids, each in self.held)


@dataclasses.dataclass(frozen=True)
class HostMap:
    """The state of a host and the name of the policy it packs by.

    :ivar strangers: what *state* counts beside claims
    :ivar release: the version of nova-rt that published the map, for people;
        '' where that version did not say.  Maps that differ in nothing else
        are equal.
    """

    state: cpus.CpuBandwidth
    policy: str
    strangers: tuple[Stranger, ...] = ()
    release: str = dataclasses.field(default='', compare=False)

    @functools.cached_property
    def left(self) -> float:
        """The part of the time of all pCPUs that nothing has reserved.

        It is kept, because schedulers ask for it again and again.
        """
        used = self.state.used
        if not used:
            return 1.0
        return max(0.0, 1 - sum(used) / (reservation.PPM * len(used)))


def amounts(vcpus: int, bandwidth: int) -> dict[str, int]:
    """What a server takes of each class.

    :param bandwidth: ppm for each of its vCPUs
    """
    return {RESOURCE_CLASS: vcpus * bandwidth, SHARE_CLASS: bandwidth}


def inventories(empty: cpus.CpuBandwidth,
                strangers: Iterable[Stranger] = ()
                ) -> dict[str, dict[str, Any]]:
    """What a host offers of each class.

    A replicated host has one pool of shares.  Another has one for each pCPU,
    so that the shares never run out before the sum does.

    :param strangers: to whom nothing is allocated of what they hold
    """
    pcpus = len(empty.cpus)
    pools = 1 if empty.replicated else pcpus
    taken = collections.Counter[str]()
    for stranger in strangers:
        for ids, held in stranger.held:
            taken.update(amounts(len(ids), held.bandwidth))
    return {
        RESOURCE_CLASS: _inventory(pcpus, empty.cap, empty.total,
                                   taken[RESOURCE_CLASS]),
        SHARE_CLASS: _inventory(pools, empty.cap, empty.cap,
                                taken[SHARE_CLASS])}


def _inventory(pcpus: int, cap: int, max_unit: int, taken: int
               ) -> dict[str, Any]:
    """Full pCPUs; what is above the cap, or *taken*, is reserved."""
    total = pcpus * reservation.PPM
    return {'total': total,
            'reserved': min(total, total - pcpus * cap + taken),
            'min_unit': 1, 'max_unit': max_unit, 'step_size': 1,
            'allocation_ratio': 1.0}


#: Many hosts have the same pCPUs.
_ids = functools.lru_cache(cpulist.parse_ids)
_known: Callable[[tuple[int, ...]], frozenset[int]] = functools.lru_cache(
    frozenset)


def to_stats(host: HostMap) -> dict[str, str]:
    """Stats of a host: shares in pCPUs, and the map as JSON.

    4 KB for 512 pCPUs.  A host with so many different reservations that
    they do not fit the column takes no more.
    """
    state, text = host.state, _encode(host)
    if len(text) > _MAX_LENGTH:
        text = _encode(HostMap(cpus.CpuBandwidth.empty((), 0), host.policy,
                               release=host.release))
    return {SHARE: reservation.decimal(state.total),
            SHARE_USED: reservation.decimal(state.total_used), MAP: text}


def _encode(host: HostMap) -> str:
    state, rule = host.state, host.state.rule
    data = {'version': VERSION, 'cpus': cpulist.format_ids(state.cpus),
            'used': state.used, 'cap': state.cap, 'charged': state.charged,
            'replicated': state.replicated, 'policy': host.policy}
    if state.min_runtime_us > 1:
        data['min_runtime_us'] = state.min_runtime_us
    if rule is not None:
        data |= {'fixed': dataclasses.astuple(rule),
                 'servers': list(_listed(state))}
    if host.strangers:
        data['strangers'] = [
            (each.uuid, each.name[:_NAME_LENGTH],
             [(one.runtime_us, one.period_us, list(ids))
              for ids, one in each.held]) for each in host.strangers]
    elsewhere = {each.uuid: each.elsewhere[:_NAME_LENGTH]
                 for each in host.strangers if each.elsewhere}
    if host.release:
        data['release'] = host.release[:_NAME_LENGTH]
    if elsewhere:
        data['elsewhere'] = elsewhere
    return json.dumps(data, separators=(',', ':'))


def _listed(state: cpus.CpuBandwidth
            ) -> Iterator[tuple[int, int, list[int]]]:
    """What is reserved: runtime, period, and pCPU ids, some of them twice."""
    places: dict[reservation.Reservation, list[int]] = (
        collections.defaultdict(list))
    for cpu, held in sorted(state.servers.items()):
        for each in held:
            places[each].append(cpu)
    for each, ids in sorted(places.items()):
        yield each.runtime_us, each.period_us, ids


def _servers(known: frozenset[int], listed: list[Any]) -> _Servers:
    """The inverse of :func:`_listed`.

    :raises ValueError: it has pCPUs that are not *known*
    """
    found: _Servers = {}
    for runtime_us, period_us, ids in listed:
        wanted = _reservation(runtime_us, period_us)
        if not known.issuperset(ids):
            raise ValueError(f'{ids} are not all of {known}')
        for cpu in ids:
            held = found.get(cpu)
            found[cpu] = (tuple(sorted((*held, wanted))) if held
                          else (wanted,))
    return found


def _strangers(listed: list[Any], elsewhere: dict[str, Any]
               ) -> Iterator[Stranger]:
    for uuid, name, held in listed:
        yield Stranger(str(uuid), str(name), tuple(
            (tuple(ids), _reservation(runtime_us, period_us))
            for runtime_us, period_us, ids in held),
            str(elsewhere.get(uuid, '')))


# There are fewer flavors than servers.
@functools.lru_cache(maxsize=4096)
def _reservation(runtime_us: int, period_us: int) -> reservation.Reservation:
    if not 0 < runtime_us <= period_us:
        raise ValueError(f'{runtime_us}/{period_us} is no reservation')
    return reservation.Reservation(runtime_us, period_us)


def _rule(data: dict[str, Any]) -> schedulability.FixedPriorities | None:
    """A map of a host that admits by the sum names none."""
    if 'fixed' not in data:
        return None
    numbers = data['fixed']
    if min(numbers) < 0 or numbers[0] < 1:
        raise ValueError(f'{numbers} is no rule')
    return schedulability.FixedPriorities(*numbers)


def from_stats(stats: Mapping[str, Any]) -> HostMap | None:
    """The inverse of :func:`to_stats`.

    :returns: None for a host without the plugin or with a map we cannot
        read, or of another version: it is no host for a reservation
    """
    text = stats.get(MAP)
    return _decode(text) if isinstance(text, str) else None


# Between two requests few maps change; Placement names 1000 hosts at most.
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
            int(data.get('min_runtime_us', 1)))
        return HostMap(state, data['policy'],
                       tuple(_strangers(data.get('strangers', []),
                                        data.get('elsewhere', {}))),
                       str(data.get('release', '')))
    except (AttributeError, KeyError, TypeError, ValueError,
            RecursionError):
        return None
