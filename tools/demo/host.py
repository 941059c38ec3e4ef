# SPDX-License-Identifier: Apache-2.0

"""What the host knows: claims in Nova's database, budgets in the kernel.

Reads only, and past all of nova_rt's own code but the form of a claim.
"""

from collections.abc import Sequence
import contextlib
import dataclasses
import json
import os
import pathlib
import sqlite3
import time

from cloud import settings

from nova_rt.compute import claims
from nova_rt import hostmap

CGROUPS = pathlib.Path('/sys/fs/cgroup')
MACHINE = CGROUPS / 'cpu' / 'machine'


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of the demonstration on this host."""

    name: str
    state: str
    claim: claims.RTClaim | None
    group: str

    @property
    def kernel(self) -> dict[str, int]:
        path = MACHINE / self.group
        return {'runtime_us': _number(path / 'cpu.rt_runtime_us'),
                'period_us': _number(path / 'cpu.rt_period_us')}


def _number(path: pathlib.Path) -> int:
    return int(path.read_text())


def _database(cloud: settings.Settings) -> sqlite3.Connection:
    path = cloud.data / 'nova_cell1.db'
    return sqlite3.connect(f'file:{path}?mode=ro', uri=True)


def _resources(text: str | None) -> list[str]:
    """Identifiers of our resource class in Instance.resources."""
    if not text:
        return []
    entries = json.loads(text)['nova_object.data']['objects']
    data = [entry['nova_object.data'] for entry in entries]
    return [entry['identifier'] for entry in data
            if entry['resource_class'] == hostmap.RESOURCE_CLASS]


def servers(cloud: settings.Settings) -> list[Server]:
    """The servers that are not deleted, by name."""
    query = ('select i.id, i.display_name, i.vm_state, e.resources '
             'from instances i join instance_extra e '
             'on e.instance_uuid = i.uuid where i.deleted = 0 '
             'order by i.display_name')
    found = []
    with contextlib.closing(_database(cloud)) as database:
        for number, name, state, resources in database.execute(query):
            held = [claims.RTClaim.parse(identifier)
                    for identifier in _resources(resources)]
            domain = f'{settings.DOMAIN_PREFIX}{number:08x}'
            found.append(Server(name, state, held[0] if held else None,
                                _group(domain)))
    return found


def _group(domain: str) -> str:
    found = list(MACHINE.glob(f'lxc-*-{domain}.libvirt-lxc'))
    return found[0].name if found else ''


def charged(cloud: settings.Settings) -> int:
    """ppm that nova-compute says all claims of the host add up to."""
    with contextlib.closing(_database(cloud)) as database:
        rows = database.execute(
            'select stats from compute_nodes where deleted = 0').fetchall()
    return sum(json.loads(json.loads(stats)[hostmap.MAP])['charged']
               for stats, in rows)


def budgets() -> int:
    """us of runtime that the kernel holds for guests, parents included."""
    if not MACHINE.exists():
        return 0
    return sum(_number(path) for path in MACHINE.rglob('cpu.rt_runtime_us'))


def busy_tasks(server: Server) -> int:
    """Tasks of a server that are running or ready to run."""
    text = (MACHINE / server.group / 'tasks').read_text()
    return sum(_state(task) == 'R' for task in text.split())


def _state(task: str) -> str:
    try:
        stat = pathlib.Path(f'/proc/{task}/stat').read_text()
    except OSError:
        return ''
    return stat.rpartition(')')[2].split()[0]


def shares(found: Sequence[Server], periods: int) -> dict[str, float]:
    """CPU time over wall time of each server, over whole periods of all.

    The window is *periods* of the longest period, which the shorter ones
    divide in this demonstration.
    """
    longest = max(server.claim.reservation.period_us
                  for server in found if server.claim)
    before = {server.name: _usage(server) for server in found}
    time.sleep(periods * longest / 1e6)
    after = {server.name: _usage(server) for server in found}
    return {name: (after[name][0] - before[name][0])
            / (after[name][1] - before[name][1]) for name in before}


def _usage(server: Server) -> tuple[int, int]:
    """CPU time of the server's group, and the time now, in ns."""
    path = CGROUPS / 'cpuacct' / 'machine' / server.group / 'cpuacct.usage'
    handle = os.open(path, os.O_RDONLY)
    try:
        now = time.monotonic_ns()
        return int(os.read(handle, 64)), now
    finally:
        os.close(handle)
