# SPDX-License-Identifier: Apache-2.0

"""Runs the commands of ``openstack rt`` in a cloud with many hosts.

benchmarks.commands measures with this module.
"""

import dataclasses
import io
import os
import statistics
import time
import types
from typing import Any

import fixtures
from keystoneauth1 import session
from nova import objects

from benchmarks import hosts as rt_hosts
from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from rt_client import cloud
from rt_client import explain
from rt_client import fit
from rt_client import hosts
from rt_client import usage
from tests.functional import test_reading

ROUNDS = int(os.environ.get('ROUNDS', '7'))
_VERSION = '1.36'
_CAP = 950_000
_DAY = 86_400
#: What a host has besides its pCPUs for reservations.
_OTHERS = {'VCPU': 1024, 'MEMORY_MB': 262_144, 'DISK_GB': 1000}


@dataclasses.dataclass(frozen=True)
class Timed:
    """A command, with medians of seconds.

    :ivar cpu_seconds: the CPU time of the command, nova-api and Placement
    """

    command: str
    seconds: float
    longest_seconds: float
    cpu_seconds: float
    requests: int
    rows: int

    def cells(self) -> list[str]:
        """Returns a row of a table."""
        return [self.command, *(f'{value:.2f}' for value in (
            self.seconds, self.longest_seconds, self.cpu_seconds)),
            str(self.requests), str(self.rows)]

    def __str__(self) -> str:
        return ('{}: {} s (at most {}, CPU {}), {} requests, {} rows'
                .format(*self.cells()))


class ManyHostsTest(test_reading.ReadingTest):
    """The cloud, and what each command takes."""

    count = 1000
    found: list[Timed]

    def _configure(self) -> None:
        super()._configure()
        self.flags(service_down_time=_DAY)

    def runTest(self) -> None:
        for number in range(1, self.count):
            self._add(number)
        type(self).found = [
            self._timed('host list', hosts.ListHosts),
            self._timed('host list --trouble', hosts.ListHosts, '--trouble'),
            self._timed('fit --share 0.4 --vcpus 2', fit.Fit,
                        '--share', '0.4', '--vcpus', '2'),
            self._timed('explain', explain.Explain, self.server['name']),
            self._timed('usage --project', usage.Usage, '--project', 'many')]

    def _add(self, number: int) -> None:
        """Adds the records of a host whose pCPUs are used at random."""
        node = rt_hosts.compute_node(number, rt_hosts.numa_json(number))
        values = {name: getattr(node, name) for name in node.obj_fields
                  if node.obj_attr_is_set(name)}
        del values['id'], values['updated_at']
        context = self.cell_context()
        objects.Service(
            context, host=node.host, binary='nova-compute', topic='compute',
            report_count=1, disabled=number % 50 == 3).create()
        objects.ComputeNode(context, **values).create()
        published = hostmap.from_stats(node.stats)
        assert published is not None  # noqa: S101 - made above
        self._provide(node.uuid, node.host, published.state)

    def _provide(self, provider: str, name: str, state: cpus.CpuBandwidth
                 ) -> None:
        """Adds the provider of a host, with one consumer of what is used."""
        path = f'/resource_providers/{provider}'
        self.placement.post('/resource_providers', {
            'name': name, 'uuid': provider}, version=_VERSION)
        self.placement.put(f'{path}/inventories', {
            'resource_provider_generation': 0, 'inventories': {
                **{key: {'total': total} for key, total in _OTHERS.items()},
                **hostmap.inventories(cpus.CpuBandwidth.empty(
                    state.cpus, _CAP))}}, version=_VERSION)
        self.placement.put(f'{path}/traits', {
            'resource_provider_generation': 1, 'traits': [hostmap.TRAIT]},
            version=_VERSION)
        self.placement.put(f'/allocations/{provider}', {
            'allocations': {provider: {'resources': hostmap.amounts(
                1, max(state.used))}}, 'project_id': 'many',
            'user_id': 'many', 'consumer_generation': None}, version='1.28')

    def _timed(self, name: str, kind: Any, *words: str) -> Timed:
        """Runs a command several times, with the connections of one user."""
        runs = [self._run(kind, self._manager(), *words, '-f', 'csv')
                for _ in range(ROUNDS)]
        seconds, cpu_seconds, requests, rows = zip(*runs, strict=True)
        return Timed(name, statistics.median(seconds), max(seconds),
                     statistics.median(cpu_seconds), max(requests), max(rows))

    def _manager(self) -> Any:
        """Returns what the client has of an administrator at its start."""
        nova = self.connect(self.api_fixture.base_url, {
            'X-Auth-User': 'admin', 'X-Auth-Project-Id': 'admin',
            'X-Roles': 'admin'})
        placement = self.connect(self.placement_fixture.endpoint, {
            'X-Auth-Token': self.placement_fixture.token,
            'X-Roles': 'admin,service'})
        return types.SimpleNamespace(rt=cloud.Cloud(
            nova.compute, placement.placement))

    @staticmethod
    def _run(kind: Any, manager: Any, *words: str
             ) -> tuple[float, float, int, int]:
        """Returns the seconds, the CPU seconds, the requests and the rows."""
        asked: list[str] = []
        send = session.Session.request

        def request(self: Any, url: str, *args: Any, **kwargs: Any) -> Any:
            asked.append(url)
            return send(self, url, *args, **kwargs)

        app = types.SimpleNamespace(client_manager=manager,
                                    stdout=io.StringIO())
        command = kind(app, None)
        parsed = command.get_parser('rt').parse_args(words)
        with fixtures.MonkeyPatch(
                'keystoneauth1.session.Session.request', request):
            start, busy = time.perf_counter(), time.process_time()
            command.run(parsed)
            seconds = time.perf_counter() - start
            busy = time.process_time() - busy
        return seconds, busy, len(asked), app.stdout.getvalue().count('\n') - 1
