# SPDX-License-Identifier: Apache-2.0

"""The invariants that hold after each operation.

They are computed from what the database, Placement and the kernels store,
without any of the code that computes them in the product.
"""

import collections
import os
import re
from typing import Any

from oslo_serialization import jsonutils

from tests.emulation import rt_group_sched
from tests.emulation import rt_max_cpuset
from tests.functional.soak import hosts
from tests.functional.soak import moves

CAP = 950_000
#: The least runtime of a group above other groups.
_LEAST_PPM = 3
_IDENTIFIER = re.compile(
    r'([0-9a-f-]{36})/\d+;r=(\d+);p=(\d+);h=\d*,\d*;c=([0-9,]+)(?:;k=(\d+))?')
_CLASSES = ('CUSTOM_RT_BANDWIDTH', 'CUSTOM_RT_SHARE')

Grants = dict[str, dict[int, tuple[int, int]]]


class Broken(AssertionError):  # noqa: N818
    """One of the invariants does not hold."""


def need(fact: bool, *words: Any) -> None:
    if not fact:
        raise Broken(' '.join(map(str, words)))


class StoredClaim:
    """Reads the identifier of a claim.

    :ivar reserved_ppm: what Placement counts for each vCPU
    :ivar own: runtime and period in us that the kernel gets for each vCPU
    :ivar ppm: what the host counts for each vCPU
    """

    def __init__(self, text: str) -> None:
        match = _IDENTIFIER.fullmatch(text)
        need(match is not None, 'no claim:', text)
        assert match is not None
        self.uuid = match[1]
        runtime, period, divisor = map(
            int, (match[2], match[3], match[5] or 1))
        self.reserved_ppm = ppm(runtime, period)
        self.own = -(-runtime // divisor), period // divisor
        self.ppm = ppm(*self.own)
        self.cpus = tuple(map(int, match[4].split(',')))


def ppm(runtime: int, period: int) -> int:
    return -(-runtime * 1_000_000 // period)


def stored(cloud: moves.Cloud) -> dict[str, set[str]]:
    """Returns the identifiers of all stored claims, by provider."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for instance in cloud.store.instances.values():
        context = instance.migration_context
        for resources in (instance.resources, *(
                (context.old_resources, context.new_resources)
                if context else ())):
            for each in resources or ():
                found[each.provider_uuid].add(each.identifier)
    return found


def tracked(host: hosts.Host) -> set[str]:
    return {each.identifier for classes in host.rt.assigned_resources.values()
            for found in classes.values() for each in found}


def used(host: hosts.Host, texts: set[str]) -> list[int]:
    """Returns the ppm of each pCPU that these claims take.

    A server that is resized on its host has two claims there, and runs with
    one of them.  With fixed priorities, both claims count.
    """
    both = isinstance(host.kernel, rt_group_sched.Kernel)
    by_server: list[dict[str, int]] = [{} for _ in range(hosts.PCPUS)]
    for held in map(StoredClaim, texts):
        for cpu in range(hosts.PCPUS) if host.replicated else held.cpus:
            before = by_server[cpu].get(held.uuid, 0)
            by_server[cpu][held.uuid] = (
                before + held.ppm if both else max(before, held.ppm))
    return [sum(servers.values()) for servers in by_server]


def check(cloud: moves.Cloud, audited: set[str]) -> None:
    """Checks after an operation; *audited* are the hosts audited last."""
    claims = stored(cloud)
    _check_cells(cloud)
    for host in cloud.hosts.values():
        own = claims.get(host.uuid, set())
        need(max(used(host, own)) <= CAP, host.name, 'is beyond the cap:',
             used(host, own), own)
        over = host.kernel.over_cap(CAP)
        need(not over, host.name, over)
        if host.up:
            _check_tracked(host, own, host.name in audited)
            _check_placement(cloud, host, own)
            if host.name in audited:
                _check_published(cloud, host, own)
            _check_kernel(cloud, host, own)
    for refusal in cloud.refusals:
        need(refusal.count > 1 or not refusal.room, refusal.wish,
             'was refused and has room on', refusal.room)
    cloud.refusals.clear()


def _check_cells(cloud: moves.Cloud) -> None:
    """Each claim is in the cells that Nova has for the server there."""
    for instance in cloud.store.instances.values():
        context = instance.migration_context
        for resources, topology in (
                (instance.resources, instance.numa_topology), *(
                    ((context.old_resources, context.old_numa_topology),
                     (context.new_resources, context.new_numa_topology))
                    if context else ())):
            for each in resources or () if topology else ():
                cpus = StoredClaim(each.identifier).cpus
                for own in topology.cells:
                    inside = hosts.cells(cloud.cells)[own.id]
                    need({cpus[vcpu] for vcpu in own.cpuset} <= inside,
                         each.identifier, 'is not in cell', own.id)


def _check_tracked(host: hosts.Host, own: set[str], audited: bool) -> None:
    now = tracked(host)
    need(own <= now, host.name, 'forgot', own - now)
    need(max(used(host, now)) <= CAP, host.name, 'counts beyond the cap')
    need(not audited or own == now, host.name, 'still counts', now - own)


def _check_placement(cloud: moves.Cloud, host: hosts.Host, own: set[str]
                     ) -> None:
    """Checks that the sums are those of the claims and running builds."""
    wanted: collections.Counter[str] = collections.Counter()
    for held in map(StoredClaim, own):
        wanted.update(dict(zip(_CLASSES, (
            held.reserved_ppm * len(held.cpus), held.reserved_ppm),
            strict=True)))
    for build in cloud.pending:
        if not build.tries and (
                build.selections[0].service_host == host.name):
            wish = cloud.wishes[build.uuid]
            wanted.update(dict(zip(_CLASSES, (
                wish.ppm * wish.vcpus, wish.ppm), strict=True)))
    found = cloud.placement.used(host.uuid)
    for name in _CLASSES:
        need(wanted[name] == found[name], 'Placement has', found[name],
             'of', name, 'at', host.name, 'and the claims are', wanted[name],
             own)


def _check_published(cloud: moves.Cloud, host: hosts.Host, own: set[str]
                     ) -> None:
    """The map says how much the claims take."""
    found = jsonutils.loads(cloud.store.nodes[host.uuid].stats['rt_map'])
    charged = found['charged'] if host.replicated else 0
    said = [max(taken, charged) for taken in found['used']]
    need(said == used(host, own), host.name, 'publishes', said, 'and',
         used(host, own), 'is claimed')


def _check_kernel(cloud: moves.Cloud, host: hosts.Host, own: set[str]
                  ) -> None:
    granted: Grants = host.kernel.granted()
    leaves: Grants = {}
    for domain in host.domains.values():
        if not domain.pid:
            continue
        held = _now(cloud, domain.UUIDString(), own)
        need(held is not None, domain.UUIDString(), 'runs on', host.name,
             'without a claim')
        assert held is not None
        leaves |= _expected(host, domain.pid, held)
        _check_policy(host, domain.pid)
    for group, lanes in leaves.items():
        need(granted.get(group) == lanes, group, 'on', host.name, 'has',
             granted.get(group), 'and not', lanes)
    for group, lanes in granted.items():
        if group not in leaves:
            _check_parent(host, group, lanes, granted)


def _now(cloud: moves.Cloud, uuid: str, own: set[str]) -> StoredClaim | None:
    """Returns the claim that a server runs with on a host."""
    instance = cloud.store.instances.get(uuid)
    first = {each.identifier for each in
             (instance.resources if instance else None) or ()}
    found = sorted((text for text in own if text.startswith(uuid)),
                   key=lambda text: text not in first)
    return StoredClaim(found[0]) if found else None


def _expected(host: hosts.Host, pid: int, held: StoredClaim) -> Grants:
    guests = host.guests
    if host.replicated:
        return {guests.group(pid): dict.fromkeys(
            range(hosts.PCPUS), held.own)}
    vcpus = guests.vcpus(pid)
    if not vcpus:
        return {guests.group(pid): dict.fromkeys(held.cpus, held.own)}
    return {group: {cpu: held.own} for group, cpu
            in zip(vcpus, held.cpus, strict=True)}


def _check_parent(host: hosts.Host, group: str,
                  lanes: dict[int, tuple[int, int]], granted: Grants) -> None:
    """Checks that F1's top group has all runtime exactly while needed."""
    if isinstance(host.kernel, rt_group_sched.Kernel) and (
            group.count('/') == 1):
        need({ppm(*pair) for pair in lanes.values()} == {CAP}, group,
             'holds', lanes)
        need(any(name.startswith(group + '/') for name in granted), group,
             'holds', lanes, 'for nobody')
        return
    if isinstance(host.kernel, rt_max_cpuset.Kernel):
        _check_fullest(group, lanes, granted)
        need(not host.kernel.trapped(), host.name, 'has tasks that never run')
        return
    _check_tight(group, lanes, granted)


def _check_fullest(group: str, lanes: dict[int, tuple[int, int]],
                   granted: Grants) -> None:
    """The top group has on each CPU the runtime of the fullest CPU."""
    below = [sum(ppm(*own[cpu]) for name, own in granted.items()
                 if name.startswith(group + '/') and cpu in own)
             for cpu in lanes]
    for pair in lanes.values():
        need(0 < ppm(*pair) <= max(*below, _LEAST_PPM), group, 'holds', pair,
             'for', below)


def _check_tight(group: str, lanes: dict[int, tuple[int, int]],
                 granted: Grants) -> None:
    depth = group.count('/') + 1
    for cpu, pair in lanes.items():
        below = sum(ppm(*own[cpu]) for name, own in granted.items()
                    if name.startswith(group + '/')
                    and name.count('/') == depth and cpu in own)
        need(below > 0, group, 'holds', pair, 'for nobody')
        need(ppm(*pair) <= max(below, _LEAST_PPM), group, 'holds', pair,
             'for', below)


def _check_policy(host: hosts.Host, pid: int) -> None:
    groups = host.guests.vcpus(pid) or [host.guests.group(pid)]
    tasks = host.kernel.tasks
    key = host.kernel.key('cpu')
    found = {tasks[thread].policy for thread in host.guests.running[pid]
             if thread != pid and tasks[thread].groups[key] in groups}
    need(found == {os.SCHED_RR}, 'guest', pid, 'runs with', found)


def check_empty(cloud: moves.Cloud) -> None:
    """Checks that nothing is left once all servers are deleted."""
    check(cloud, set(cloud.hosts))
    need(not cloud.placement.held, 'Placement holds', cloud.placement.held)
    for host in cloud.hosts.values():
        need(not tracked(host), host.name, 'counts', tracked(host))
        need(not host.kernel.granted(), host.name, 'grants',
             host.kernel.granted())
        need(not host.guests.running, host.name, 'runs guests')
        stats = cloud.store.nodes[host.uuid].stats
        need(stats['rt_share_used'] == '0.000', host.name, stats)
