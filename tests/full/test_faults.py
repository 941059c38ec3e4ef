# SPDX-License-Identifier: Apache-2.0

"""Kills each service (SIGKILL) in the middle of a storm: no loss."""

import os
import signal
import threading
import time

from cloud.full import lifecycle
from cloud.full import services

from tests.full import base
from tests.full import sampler
from tests.full import storm

#: All servers that exist at one time fit into the pool of their node.
RUNTIME_US = {'lxc': '10000', 'qemu': '5000'}
PERIOD_US = '100000'
SERVERS = 16
#: How many servers have come or gone when the service is killed.
EARLY = 3
#: Longer than the longest request to a service that was killed; servers that
#: hang then are removed.
PATIENCE = 45


class FaultsTestCase(base.FullTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.nova = storm.Nova(self.cloud)
        self.flavors = {}
        for guest, runtime in RUNTIME_US.items():
            self.flavors[guest] = self.nova.flavor(
                f'{self.id()}-{guest}',
                {'hw:cpu.rt_runtime_us': runtime,
                 'hw:cpu.rt_period_us': PERIOD_US})
            self.addCleanup(self.nova.delete_flavor, self.flavors[guest])

    def test_nova_compute_lxc(self):
        self._survives('nova-compute-lxc')

    def test_nova_compute_qemu(self):
        self._survives('nova-compute-qemu')

    def test_nova_scheduler(self):
        self._survives('nova-scheduler')

    def test_nova_conductor(self):
        self._survives('nova-conductor')

    def test_placement(self):
        self._survives('placement')

    def test_mariadb(self):
        self._survives('mariadb')

    def test_rabbitmq(self):
        self._survives('rabbitmq')

    def test_libvirtd_lxc(self):
        self._survives('libvirtd-lxc')

    def test_libvirtd_qemu(self):
        self._survives('libvirtd-qemu')

    def _survives(self, name: str) -> None:
        weather = storm.Storm(self.nova, self.flavors, PATIENCE)
        with sampler.Sampler() as seen:
            storming = threading.Thread(target=weather.run, args=[SERVERS])
            storming.start()
            self.eventually('the storm is on', lambda: weather.done >= EARLY)
            self._kill(name)
            lifecycle.up(self.cloud, [])
            storming.join()
        self.assertEqual([], seen.over)
        self.assertGreater(seen.highest['lxc'], 0)
        self._sweep()
        self.assert_clean()
        self._assert_consistent()
        self.eventually('all hosts take servers', self.nova.ready)
        # The cloud also works: all servers of a small storm come and go.
        calm = storm.Storm(self.nova, self.flavors).run(2)
        self.assertEqual((2, ()), (calm.ran, calm.failed))
        self.assert_clean()

    def _kill(self, name: str) -> None:
        pid = services.BY_NAME[name].pid(self.cloud)
        self.assertIsNotNone(pid)
        os.kill(pid, signal.SIGKILL)
        self.eventually('it has ended', lambda: services.BY_NAME[
            name].pid(self.cloud) is None)

    def _assert_consistent(self) -> None:
        """Nova's next audits may have to correct what the fault left."""
        deadline = time.monotonic() + base.PATIENCE
        while found := base.differences():
            if time.monotonic() > deadline:
                self.fail(found)

    def _sweep(self) -> None:
        """Deletes what the fault left, as an operator would."""
        deadline = time.monotonic() + base.PATIENCE
        while left := self.nova.servers():
            if time.monotonic() > deadline:
                self.fail(f'never gone: {left}')
            for server in left:
                self.nova.reset(server)
                self.nova.delete(server)
            time.sleep(2)
