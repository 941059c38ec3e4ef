# SPDX-License-Identifier: Apache-2.0

"""The full cloud, up once for all tests of a run."""

import atexit
from collections.abc import Callable
import functools
import os
import subprocess
import time
from typing import Any

from cloud import computes
from cloud.full import lifecycle
from cloud.full import services
from cloud import settings
from demo import client
from demo import host
from demo import measure
from oslotest import base

from tests.cloud import base as cloud_base

PATIENCE = 90
SECONDS = 5
TOLERANCE = 0.01
IMAGES = {'lxc': 'lxc-busy', 'qemu': 'qemu-busy'}


@functools.cache
def bring_up() -> None:
    """Brings the cloud up; a cloud that was up already is left alone."""
    cloud = settings.load()
    if not (cloud.full and not lifecycle.missing(cloud)):
        atexit.register(cloud_base.cloud, 'down', '--keep-logs')
        cloud_base.cloud('up', '--full')
    os.environ['no_proxy'] = '127.0.0.1,localhost'
    client.environment()
    client.warm_up()


def begin_check(node: computes.Node) -> subprocess.Popen[str]:
    """Runs ``nova-rt-manage check`` on a node, with its kernel."""
    cloud = settings.load()
    return subprocess.Popen(
        services.on_node(cloud, node.name, [
            'nova-rt-manage', '--config-file', str(cloud.nova_conf),
            '--config-file', str(cloud.compute_conf(node.name)), 'check',
            '--kernel', '--host', node.host_name]),
        text=True, env=cloud.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)


def differences() -> str:
    """Returns what the check finds on either node, '' for nothing."""
    begun = [begin_check(node) for node in settings.load().nodes]
    found = [(each.communicate()[0], each.returncode) for each in begun]
    return '\n'.join(text for text, status in found if status)


def check() -> None:
    """Checks both nodes.

    :raises RuntimeError: something differs
    """
    if found := differences():
        raise RuntimeError(found)


class FullTestCase(base.BaseTestCase):
    """Types commands, and reads the state of the hosts."""

    TIMEOUT_SCALING_FACTOR = 10

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for guest in ('lxc', 'qemu'):
            if reason := cloud_base.lacking(guest):
                cls.skipTest(cls, reason)
        bring_up()
        cls.addClassCleanup(check)

    def setUp(self) -> None:
        super().setUp()
        self.cloud = settings.load()

    def openstack(self, command: str) -> str:
        """Returns the output of a command, which must succeed."""
        answer = client.run(command)
        self.assertEqual(0, answer.status, f'{command}: {answer.text}')
        return answer.text

    def flavor(self, name: str, properties: str = '') -> None:
        self.openstack(f'flavor create {name} --vcpus 1 --ram 96 --disk 0 '
                       f'{properties}')
        self.addCleanup(client.run, f'flavor delete {name}')

    def server(self, name: str, more: str, guest: str = 'lxc') -> host.Server:
        """Creates a server by a command; returns it once it runs."""
        self.addCleanup(client.run, f'server delete --wait {name}')
        self.openstack(f'server create --image {IMAGES[guest]} --nic none '
                       f'{more} {name}')
        return self.running(name)

    def running(self, name: str) -> host.Server:
        """Returns the server as its host has it, once it runs."""
        def looked_up() -> host.Server | None:
            for found in host.servers(self.cloud):
                if found.name == name and found.state == 'error':
                    self.fail(self.openstack(f'server show {name} -c fault'))
                if found.name == name and found.state == 'active':
                    return found
            return None

        server: host.Server = self.eventually(f'{name} runs', looked_up)
        return server

    def eventually(self, what: str, look: Callable[[], Any]) -> Any:
        """Polls until there is a result; returns the result."""
        deadline = time.monotonic() + PATIENCE
        while not (found := look()):
            if time.monotonic() > deadline:
                self.fail(f'never: {what}')
            time.sleep(0.3)
        return found

    def assert_reserved(self, server: host.Server, runtime: int,
                        period: int) -> None:
        """Checks that the claim, the kernel and the measured share agree."""
        assert server.claim is not None, server.name
        wanted = server.claim.reservation
        self.assertEqual((runtime, period),
                         (wanted.runtime_us, wanted.period_us))
        granted = server.claim.in_kernel
        self.assertEqual({'runtime_us': granted.runtime_us,
                          'period_us': granted.period_us}, server.kernel)
        self.eventually('its share', lambda: self._share(
            server) >= wanted.share - TOLERANCE)

    def _share(self, server: host.Server) -> float:
        """Returns the share of a server, which is never more than it reserved.

        It may be less at first, while its tasks are being started.
        """
        assert server.claim is not None, server.name
        found = measure.shares([server], SECONDS)[server.name]
        self.assertLessEqual(
            found, server.claim.reservation.share + TOLERANCE)
        return found

    def assert_clean(self) -> None:
        """Checks that nothing is reserved any more."""
        self.eventually('no budget is left', lambda: host.budgets() == 0)
        self.eventually('no claim is left',
                        lambda: host.charged(self.cloud) == 0)
