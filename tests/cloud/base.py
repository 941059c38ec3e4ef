# SPDX-License-Identifier: Apache-2.0

"""Brings the cloud up once for all tests here, and takes it down."""

import os
import pathlib
import subprocess
import sys
import time

import openstack
from openstack import exceptions
from oslotest import base

from nova_rt.compute import claims
from nova_rt.kernel import detect
from nova_rt.kernel import fs

PROJECT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / 'tools'))

from cloud import settings  # noqa: E402
from demo import host  # noqa: E402

PATIENCE = 60


def cloud(*arguments: str) -> None:
    """Run tools/cloud.sh; its output shows when it fails."""
    done = subprocess.run(
        [PROJECT / 'tools' / 'cloud.sh', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f'cloud.sh {arguments}:\n{done.stdout}')


def lacking() -> str:
    """What this machine has not got, '' where nothing is missing."""
    if os.geteuid():
        return 'the embedded cloud needs root'
    if detect.detect(fs.RealFS(), 'rt_group_sched') is None:
        return 'the kernel has no RT_GROUP_SCHED on cgroup v1'
    return ''


class CloudTestCase(base.BaseTestCase):
    """A cloud that is up, and its admin."""

    TIMEOUT_SCALING_FACTOR = 4

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        reason = lacking()
        if reason:
            cls.skipTest(cls, reason)
        cloud('up')
        cls.addClassCleanup(cloud, 'down', '--keep-logs')

    def setUp(self) -> None:
        super().setUp()
        self.settings = settings.load()
        self.cloud = openstack.connection.Connection(
            auth={'auth_url': self.settings.auth_url, 'username': 'admin',
                  'password': settings.PASSWORD, 'project_name': 'admin',
                  'user_domain_name': 'Default',
                  'project_domain_name': 'Default'},
            region_name=settings.REGION, compute_api_version='2.96')

    def flavor(self, runtime: int = 100_000, period: int = 200_000,
               **more: str) -> str:
        """A flavor with a reservation; its id."""
        found = self.cloud.compute.create_flavor(
            name=self.getUniqueString(), ram=64, vcpus=1, disk=0)
        self.addCleanup(self.cloud.compute.delete_flavor, found)
        self.cloud.compute.create_flavor_extra_specs(found, {
            'hw:cpu.rt_runtime_us': str(runtime),
            'hw:cpu.rt_period_us': str(period), **more})
        return str(found.id)

    def boot(self, flavor: str, hints: dict[str, object] | None = None,
             wanted: str = 'ACTIVE') -> openstack.compute.v2.server.Server:
        """A server that has reached *wanted*."""
        server = self.begin(flavor, hints)
        if wanted == 'ACTIVE':
            return self._active(server)
        return self.cloud.compute.wait_for_server(
            server, status=wanted, failures=[], wait=PATIENCE, interval=0.5)

    def begin(self, flavor: str, hints: dict[str, object] | None = None
              ) -> openstack.compute.v2.server.Server:
        """Ask for a server; it is deleted with the test."""
        image = self.cloud.image.find_image('lxc-busy')
        server = self.cloud.compute.create_server(
            name=self.getUniqueString(), flavor_id=flavor,
            image_id=image.id, networks='none',
            **({'scheduler_hints': hints} if hints else {}))
        self.addCleanup(self.delete, server)
        return server

    def _active(self, server: openstack.compute.v2.server.Server
                ) -> openstack.compute.v2.server.Server:
        try:
            return self.cloud.compute.wait_for_server(
                server, wait=PATIENCE, interval=0.5)
        except exceptions.ResourceFailure:
            fault = self.cloud.compute.get_server(server).fault
            self.fail(f'{server.name} did not start: {fault["message"]}')

    def delete(self, server: openstack.compute.v2.server.Server) -> None:
        self.cloud.compute.delete_server(server, ignore_missing=True)
        self.cloud.compute.wait_for_delete(server, wait=PATIENCE,
                                           interval=0.5)

    def on_host(self, server: openstack.compute.v2.server.Server
                ) -> host.Server:
        """The same server as the host has it."""
        return next(found for found in host.servers(self.settings)
                    if found.name == server.name)

    def claim(self, server: openstack.compute.v2.server.Server
              ) -> claims.RTClaim:
        held = self.on_host(server).claim
        self.assertIsNotNone(held)
        return held

    def eventually(self, what: str, condition: object) -> None:
        """Poll until *condition* is true."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f'never: {what}')
            time.sleep(0.2)

    def assert_nothing_left(self) -> None:
        """No claim, no allocation, no budget."""
        self.assertEqual(0, host.charged(self.settings))
        self.assertEqual(0, host.budgets())
        provider = next(self.cloud.placement.resource_providers())
        usages = self.cloud.placement.get(
            f'/resource_providers/{provider.id}/usages').json()['usages']
        self.assertEqual(0, usages['CUSTOM_RT_BANDWIDTH'])
