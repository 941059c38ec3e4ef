# SPDX-License-Identifier: Apache-2.0

"""Reads the state of the host: claims in Nova's database, and budgets.

The module writes nothing. The module uses no code of nova_rt except the
classes of claims.
"""

from collections.abc import Iterable
import contextlib
import dataclasses
import json
import os
import pathlib
import sqlite3
from typing import Any

import pymysql

from cloud import computes
from cloud import settings

from demo import groups
from demo import guests
from nova_rt.machine.host import sched
from nova_rt.machine.host import thread
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims

MACHINE = groups.tree('cpu') / 'machine'
POLICIES = {getattr(os, name): name for name in (
    'SCHED_OTHER', 'SCHED_FIFO', 'SCHED_RR', 'SCHED_BATCH', 'SCHED_IDLE')
} | {sched.SCHED_DEADLINE: 'SCHED_DEADLINE'}


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of the demonstration on this host."""

    name: str
    state: str
    claim: claims.RTClaim | None
    group: str
    kind: guests.Kind
    #: the group of its compute node, if there are several nodes
    node: str = ''

    def below(self, controller: str) -> pathlib.Path:
        """Returns the group of all guests of its compute node."""
        return groups.tree(controller) / self.node / 'machine'

    @property
    def own_groups(self) -> list[str]:
        """Returns the groups of the tasks that run inside the guest."""
        if not self.group:
            return []
        if not self.kind.vcpu_groups:
            return [self.group]
        machine = self.below('cpu')
        paths = (machine / self.group).glob(self.kind.vcpu_groups)
        return [str(path.relative_to(machine)) for path in sorted(paths)]

    @property
    def kernel(self) -> dict[str, int]:
        """Returns the budget; empty while the group comes or goes."""
        if not self.own_groups:
            return {}
        by_threads = [_deadline(task) for task in _own_tasks(self)]
        if any(by_threads):
            # All must be equal, else the budget is not that of the claim.
            return by_threads[0] if by_threads[1:] == by_threads[:-1] else {}
        if not groups.has_budgets():
            return {}
        # All vCPUs share the budget of the first one.
        path = self.below('cpu') / self.own_groups[0]
        with contextlib.suppress(FileNotFoundError):
            runtime_us, period_us = groups.budget(path)
            return {'runtime_us': runtime_us, 'period_us': period_us}
        return {}


def select(cloud: settings.Settings, query: str, name: str = 'nova_cell1'
           ) -> list[tuple[Any, ...]]:
    """Reads rows of a database of Nova, by default that of the cell."""
    with contextlib.closing(_database(cloud, name)) as database:
        cursor = database.cursor()
        cursor.execute(query)
        return list(cursor.fetchall())


def _database(cloud: settings.Settings, name: str) -> Any:
    if cloud.full:
        return pymysql.connect(
            host='127.0.0.1', port=cloud.port('mariadb'), user='root',
            database=name)
    path = cloud.data / f'{name}.db'
    return sqlite3.connect(f'file:{path}?mode=ro', uri=True)


def _resources(text: str | None) -> list[str]:
    """Returns the identifiers of our resource class in Instance.resources."""
    if not text:
        return []
    entries = json.loads(text)['nova_object.data']['objects']
    data = [entry['nova_object.data'] for entry in entries]
    return [entry['identifier'] for entry in data
            if entry['resource_class'] == hostmap.RESOURCE_CLASS]


def servers(cloud: settings.Settings) -> list[Server]:
    """Returns the servers that are not deleted, by name."""
    query = ('select i.id, i.display_name, i.vm_state, i.host, e.resources '
             'from instances i join instance_extra e '
             'on e.instance_uuid = i.uuid where i.deleted = 0 '
             'order by i.display_name')
    result = []
    for number, name, state, where, resources in select(cloud, query):
        parsed = [claims.RTClaim.parse(identifier)
                  for identifier in _resources(resources)]
        guest, node = _place(cloud, where)
        server = Server(name, state, parsed[0] if parsed else None, '',
                        guests.KINDS[guest], node)
        domain = f'{settings.DOMAIN_PREFIX}{number:08x}'
        result.append(dataclasses.replace(
            server, group=_group(server, domain)))
    return result


def building(cloud: settings.Settings) -> bool:
    """Returns whether a server waits for a host, or is being built on one.

    A build request is removed only when the server is in its cell's database.
    """
    return bool(
        select(cloud, 'select 1 from build_requests', 'nova_api') or
        select(cloud, 'select 1 from instances where deleted = 0 '
                      "and vm_state = 'building'"))


def _place(cloud: settings.Settings, where: str | None) -> tuple[str, str]:
    """Returns the kind of guests of a host, and the group of its node."""
    for node in computes.ALL:
        if node.host_name == where:
            return node.guest, node.group
    return cloud.guest, ''


def _group(server: Server, domain: str) -> str:
    paths = list(server.below('cpu').glob(server.kind.group.format(domain)))
    return paths[0].name if paths else ''


def published(cloud: settings.Settings) -> list[dict[str, str]]:
    """Returns the stats of all compute nodes."""
    rows = select(cloud, 'select stats from compute_nodes where deleted = 0')
    return [json.loads(stats) for stats, in rows]


def charged(cloud: settings.Settings) -> int:
    """Returns the ppm of all claims, each counted once for all its vCPUs."""
    return sum(json.loads(stats[hostmap.MAP])['charged']
               for stats in published(cloud))


def budgets() -> int:
    """Returns the runtime in us that the kernel holds, parents included."""
    root = groups.tree('cpu')
    machines = [MACHINE, *(root / node.group / 'machine'
                           for node in computes.ALL)]
    # Groups come and go meanwhile; os.walk ignores that.
    paths = [pathlib.Path(group) for machine in machines
             for group, _, _ in os.walk(machine)]
    return sum(groups.runtime(group) + sum(
        _deadline(task).get('runtime_us', 0) for task in groups.tasks(group))
        for group in paths)


def busy_tasks(server: Server) -> int:
    """Counts the tasks of a server that are running or ready to run."""
    return sum(_state(task) == 'R' for task in _own_tasks(server))


def _own_tasks(server: Server) -> set[int]:
    keeper = server.kind.keeper(server.group)
    return {task for group in server.own_groups
            for task in groups.tasks(server.below('cpu') / group)
            if (keeper is None or _process_of(task) != keeper)
            and not thread.is_worker(task)}


def policies(server: Server) -> dict[str, list[str]]:
    """Returns the policies of a guest's own tasks, and of its other tasks.

    The worker threads of KVM are left out: they inherit the policy of the
    vCPU that made them.
    """
    top = server.below('cpu') / server.group
    every = {task for path in top.glob('**/')
             for task in groups.tasks(path) if not thread.is_worker(task)}
    own = _own_tasks(server)
    return {'guest': _policies(own), 'host': _policies(every - own)}


def priorities(server: Server) -> list[int]:
    """Returns the real-time priorities of its own tasks."""
    numbers = set()
    for task in _own_tasks(server):
        with contextlib.suppress(ProcessLookupError):
            numbers.add(os.sched_getparam(task).sched_priority)
    return sorted(numbers)


def _policies(tasks: Iterable[int]) -> list[str]:
    names = set()
    for task in tasks:
        with contextlib.suppress(ProcessLookupError):
            names.add(POLICIES[os.sched_getscheduler(task)
                               & ~os.SCHED_RESET_ON_FORK])
    return sorted(names)


def _deadline(task: int) -> dict[str, int]:
    """Returns a task's SCHED_DEADLINE parameters; empty for other tasks."""
    with contextlib.suppress(OSError):
        attributes = sched.get(task)
        if attributes.is_deadline:
            return {'runtime_us': attributes.runtime // 1000,
                    'period_us': attributes.period // 1000}
    return {}


def _process_of(task: int) -> int | None:
    try:
        status = pathlib.Path(f'/proc/{task}/status').read_text()
    except OSError:
        return None
    return int(status.partition('Tgid:')[2].split()[0])


def _state(task: int) -> str:
    try:
        stat = pathlib.Path(f'/proc/{task}/stat').read_text()
    except OSError:
        return ''
    return stat.rpartition(')')[2].split()[0]
