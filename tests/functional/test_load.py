# SPDX-License-Identifier: Apache-2.0

"""Tests many creates at once on hosts that are nearly full.

NOVA_RT_LOAD is the number of creates.
"""

import collections
import os
import re
import threading
import time
from typing import Any

import fixtures
from nova import context as nova_context
from nova import objects

from nova_rt.rules import hostmap
from nova_rt.services.compute import tracker
from tests.functional import base

IN_FLIGHT = int(os.environ.get('NOVA_RT_LOAD', '20'))
CAP = 950_000
_IDENTIFIER = re.compile(r';r=(\d+);p=(\d+);.*;c=([0-9,]+)$')


class LoadTest(base.TestCase):
    """Replicated accounting: a claim counts on each pCPU of its host."""

    CAST_AS_CALL = False
    HOSTS = ('host1', 'host2')
    #: How many servers of the flavor below one host takes.
    PER_HOST = 5
    FLAVOR = (19_000, 100_000)

    def setUp(self) -> None:
        super().setUp()
        self.beyond: list[str] = []
        self.watched = 0
        update = tracker.RTResourceTracker._update

        def watch(rt: Any, *args: Any, **kwargs: Any) -> Any:
            # Nova's lock is held, so that the test reads each state that
            # occurs.
            self.watch(rt)
            return update(rt, *args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.compute.tracker.RTResourceTracker._update',
            watch))
        for name in self.HOSTS:
            self.start_host(name)
        self.flavor = self.rt_flavor(*self.FLAVOR)

    def watch(self, rt: Any) -> None:
        used = self.used_on(rt)
        self.watched += 1
        if max(used.values(), default=0) > CAP:
            self.beyond.append(f'{rt.host}: {dict(used)}')

    def used_on(self, rt: Any) -> collections.Counter[str]:
        """Reads the stored identifiers, without any code of nova_rt."""
        used: collections.Counter[str] = collections.Counter()
        for provider in list(rt.assigned_resources.values()):
            for found in list(provider.get(hostmap.RESOURCE_CLASS, ())):
                match = _IDENTIFIER.search(found.identifier)
                assert match is not None
                ppm = -(-int(match[1]) * 1_000_000 // int(match[2]))
                for cpu in self.charged(match[3]):
                    used[cpu] += ppm
        return used

    def charged(self, cpus: str) -> list[str]:
        """Accounting is replicated: all pCPUs are charged alike."""
        return ['all']

    def settled(self, count: int) -> list[dict[str, Any]]:
        """Returns all *count* servers, once none of them is being built."""
        end = time.monotonic() + 240
        while True:
            # Requests to the API would take the time that the builds need.
            built = sum(map(self._built_in, ('cell0', 'cell1')))
            if built == count and (count or not self._left()):
                return list(self.api.get_servers(detail=True))
            if time.monotonic() > end:
                self.fail(f'{count - built} servers are still being built')
            time.sleep(0.25)

    def _left(self) -> int:
        return len(objects.InstanceList.get_all(self.cell_context(), []))

    def _built_in(self, cell: str) -> int:
        context = nova_context.get_admin_context()
        nova_context.set_target_cell(context, self.cell_mappings[cell])
        return sum(instance.vm_state in ('active', 'error')
                   and instance.task_state is None for instance
                   in objects.InstanceList.get_all(context, []))

    def create_all(self) -> None:
        start = threading.Barrier(IN_FLIGHT)
        failed: list[Exception] = []
        bodies = [self.request(self.flavor) for _ in range(IN_FLIGHT)]

        def create(body: dict[str, Any]) -> None:
            start.wait()
            try:
                self.api.post_server(body)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=create, args=(body,))
                   for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failed)

    def test_no_pcpu_beyond_the_cap_and_no_capacity_lost(self) -> None:
        capacity = self.PER_HOST * len(self.HOSTS)
        # Nearly full: room for two on each host.
        prefilled = capacity - 2 * len(self.HOSTS)
        self.post(self.flavor, count=prefilled)
        self.assertEqual(['ACTIVE'] * prefilled, [
            server['status'] for server in self.settled(prefilled)])

        self.create_all()
        servers = self.settled(prefilled + IN_FLIGHT)
        self.assertEqual(prefilled + IN_FLIGHT, len(servers))
        active = [server for server in servers
                  if server['status'] == 'ACTIVE']
        self.assertEqual([], self.beyond)
        self.assertGreater(self.watched, len(active))
        self.assertEqual(capacity, len(active))
        self._check_active(active)
        self._check_failed([server for server in servers
                            if server not in active])
        for name in self.HOSTS:
            self.check_full(name)
            self.audit(name)
            self.check_full(name)

        for server in servers:
            self.api.delete_server(server['id'])
        self.settled(0)
        for name in self.HOSTS:
            self.check_empty(name)

    def _check_active(self, active: list[dict[str, Any]]) -> None:
        ppm = self.FLAVOR[0] * 1_000_000 // self.FLAVOR[1]
        held = {claim.instance_uuid for compute in self.computes.values()
                for claim in compute.manager.rt.rt_claims()}
        self.assertEqual({server['id'] for server in active}, held)
        for server in active:
            host = server['OS-EXT-SRV-ATTR:host']
            self.assertEqual((ppm, ppm), self.allocated(server))
            self.check_budget(server, host)

    def _check_failed(self, failed: list[dict[str, Any]]) -> None:
        for server in failed:
            self.assertEqual(
                {}, self._get_allocations_by_server_uuid(server['id']))

    def check_budget(self, server: dict[str, Any], host: str) -> None:
        self.assertEqual(self.FLAVOR, self.budget(server, host))

    def check_full(self, host: str) -> None:
        self.assertEqual(CAP, self.host_map(host).state.charged)
        self.assert_tight(host)

    def check_empty(self, host: str) -> None:
        self.assert_nothing_left(host)


class PerCpuLoadTest(base.PerCpuTestCase, LoadTest):
    """A kernel with a runtime for each CPU: four times the room."""

    PER_HOST = 8
    FLAVOR = (47_500, 100_000)

    def charged(self, cpus: str) -> list[str]:
        return cpus.split(',')

    def check_budget(self, server: dict[str, Any], host: str) -> None:
        claim = self.claim(server)
        assert claim is not None
        self.assertEqual(dict.fromkeys(claim.cpus, self.FLAVOR),
                         self.granted(server, host))

    def check_full(self, host: str) -> None:
        self.assertEqual((CAP,) * base.PCPUS, self.host_map(host).state.used)
        self.assertEqual(dict.fromkeys(range(base.PCPUS), CAP),
                         self.guest_ppm(host))

    def check_empty(self, host: str) -> None:
        super().check_empty(host)
        self.assertEqual(dict.fromkeys(range(base.PCPUS), 0),
                         self.guest_ppm(host))
