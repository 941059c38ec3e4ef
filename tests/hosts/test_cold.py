# SPDX-License-Identifier: Apache-2.0

"""A virtual machine is moved from one real host to another while it is off.

The hosts share their disks here, as Nova wants it where it has no ssh.
"""

from openstack import exceptions

from tests.cloud import base as cloud_base
from tests.cloud import lifecycle
from tests.hosts import base


class ColdTestCase(base.HostsTestCase):

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cloud = base.settings.load()
        own = cloud.data / f'instances-{cls.GUEST}'
        shared = cloud.data / 'instances-shared'
        shared.mkdir(exist_ok=True)
        cls.addClassCleanup(cls.restart, str(own))
        cls.restart(str(shared))

    @classmethod
    def restart(cls, path: str) -> None:
        cloud_base.cloud('restart', '--set', f'DEFAULT.instances_path={path}')

    def resize(self, server: base.Server, runtime: int) -> None:
        # With another extra spec, the server goes to the other host.
        self.compute.resize_server(server, self.flavor(
            runtime, self.RESERVATION[1], **lifecycle.OTHER_SIZE))
        self.to_verify(server)

    def to_verify(self, server: base.Server) -> None:
        self.compute.wait_for_server(server, status='VERIFY_RESIZE',
                                     wait=base.PATIENCE, interval=0.5)

    def assert_reserves(self, server: base.Server, runtime: int) -> None:
        claimed = self.claim(server).reservation
        self.assertEqual((runtime, self.RESERVATION[1]),
                         (claimed.runtime_us, claimed.period_us))

    def test_migrated(self):
        server = self.reserved(base.EAST, 'idle')
        self.compute.migrate_server(server)
        self.to_verify(server)
        self.compute.confirm_server_resize(server)
        self._active(server)
        self.assert_runs(server, base.WEST)

    def test_reverted(self):
        server = self.reserved(base.EAST, 'idle')
        before = self.claim(server)
        self.compute.migrate_server(server)
        self.to_verify(server)
        self.compute.revert_server_resize(server)
        self._active(server)
        self.assertEqual(before, self.claim(server))
        self.assert_runs(server, base.EAST)

    def test_resized_elsewhere(self):
        """The host has no room for the larger flavor and the other server."""
        server = self.reserved(base.EAST, 'idle', 20_000)
        self.reserved(base.EAST, 'idle', 30_000)
        self.resize(server, 50_000)
        self.compute.confirm_server_resize(server)
        self._active(server)
        self.assert_reserves(server, 50_000)
        self.assert_runs(server, base.WEST)

    def test_evacuated(self):
        """The first host gives up its part when it is back."""
        server = self.reserved(base.EAST, 'idle')
        service = next(each for each in self.compute.services(
            binary='nova-compute', host=base.EAST))
        self.addCleanup(self.is_back, service)
        self.kill('nova-compute-east')
        with base.connected(base.EAST) as connection:
            connection.lookupByUUIDString(server.id).destroy()
        self.compute.update_service_forced_down(service, forced=True)
        self.compute.evacuate_server(server)
        self.eventually('it is elsewhere',
                        lambda: self.where(server) == base.WEST)
        # Since 2.95 of the API it is left to its owner to start it.
        self.compute.wait_for_server(server, status='SHUTOFF',
                                     wait=base.PATIENCE, interval=0.5)
        self.compute.start_server(server)
        self._active(server)
        self.is_back(service)
        self.assert_runs(server, base.WEST)

    def is_back(self, service: base.Service) -> None:
        """The host ends evacuated guests before Nova uses the host again."""
        self.start_what_was_killed()
        self.eventually('it is used', lambda: self.is_used(service))

    def is_used(self, service: base.Service) -> bool:
        try:
            self.compute.update_service_forced_down(service, forced=False)
        except exceptions.BadRequestException:
            return False
        return True
