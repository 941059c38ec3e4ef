# SPDX-License-Identifier: Apache-2.0

"""The service that lets reservations follow their load, with all of Nova.

A container answers few requests, then many, then few again.  The service
changes the reservation of the running container.
"""

from collections.abc import Iterator
import contextlib
import json
import pathlib
import subprocess
import tempfile

from cloud.full import services
from demo import host
from testtools import content

from tests.cloud import test_monitored_container as monitored
from tests.full import base

RUNTIME_US, PERIOD_US = 10_000, 50_000
LEAST, MOST = 0.05, 0.7
TARGET_S, PART = 0.4, 0.9
LOW_HZ, HIGH_HZ = 40, 200
#: The share of the many requests is above this share, and the share of the few
#: requests is below the share of the flavor.
BUSY_US = 0.3 * PERIOD_US
FLAVOR = {'cpu.rt_runtime_us': RUNTIME_US, 'cpu.rt_period_us': PERIOD_US,
          'cpu.rt_auto_min_share': LEAST, 'cpu.rt_auto_max_share': MOST,
          'cpu.rt_auto_target_ms': f'{1000 * TARGET_S:g}',
          'cpu.rt_auto_percentile': PART}
#: So many requests show the percentile.
REQUESTS = 1000


class KeepTestCase(base.FullTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.assert_clean)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.audit_log = pathlib.Path(folder.name) / 'audit'

    def command(self, server: host.Server, *more: str) -> list[str]:
        node = next(each for each in self.cloud.nodes
                    if each.group == server.node)
        return services.on_node(self.cloud, node.name, [
            'nova-rt', 'advise', '--apply', '--all', '--config-file',
            str(self.cloud.nova_conf), '--config-file',
            str(self.cloud.compute_conf(node.name)), '--audit-log',
            str(self.audit_log), *more])

    @contextlib.contextmanager
    def keeper(self, server: host.Server) -> Iterator[None]:
        """Runs the service on the node of a server."""
        with subprocess.Popen(
                self.command(server), env=self.cloud.environment(),
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                ) as child:
            try:
                yield
                self.assertIsNone(child.poll())
            finally:
                child.terminate()
                said = child.communicate()[0]
                self.addDetail('service', content.text_content(said))

    def runtime_us(self, name: str) -> int:
        kernel = self.running(name).kernel
        assert kernel is not None
        return int(kernel['runtime_us'])

    def changes(self) -> list[int]:
        """Returns the runtimes that the service gave."""
        return [record['runtime_us'] for record in map(
            json.loads, self.audit_log.read_text().splitlines())
            if record['runtime_us'] and not record['trouble']]

    def reached_s(self, clients: monitored.Clients) -> float:
        """Returns the percentile of the last requests."""
        took = sorted(clients.took[-REQUESTS:])
        return took[int(PART * len(took))]

    def test_a_reservation_follows_its_load(self) -> None:
        self.flavor('auto', ' '.join(f'--property hw:{key}={value}'
                                     for key, value in FLAVOR.items()))
        server = self.server('auto', '--flavor auto --image lxc-busybox')
        with monitored.service(server) as port:
            clients = monitored.Clients(port, LOW_HZ)
            with clients.at_work():
                self.try_out(server)
                with self.keeper(server):
                    self.follow(server, clients)
        self.assertTrue(all(
            LEAST * PERIOD_US <= each <= MOST * PERIOD_US
            for each in self.changes()))
        self.assertEqual(server.group, self.running('auto').group)

    def try_out(self, server: host.Server) -> None:
        """Lets the service say what it would change."""
        done = subprocess.run(
            self.command(server, '--dry-run', '--times', '2'),
            env=self.cloud.environment(), text=True, capture_output=True)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('The change is not made (--dry-run)', done.stdout)
        self.assertEqual(RUNTIME_US, self.runtime_us(server.name))
        self.assertEqual([], self.changes())

    def follow(self, server: host.Server, clients: monitored.Clients
               ) -> None:
        self.eventually('it shrinks', lambda: self.runtime_us(
            server.name) < RUNTIME_US)
        clients.rate_hz = HIGH_HZ
        self.eventually('it grows', lambda: self.runtime_us(
            server.name) > BUSY_US)
        before = len(clients.took)
        self.eventually('the target is met', lambda: (
            len(clients.took) > before + REQUESTS
            and self.reached_s(clients) < TARGET_S))
        clients.rate_hz = LOW_HZ
        self.eventually('it shrinks again', lambda: self.runtime_us(
            server.name) < RUNTIME_US)
