# SPDX-License-Identifier: Apache-2.0

"""Tests that an admitted server moves, whatever rules and images follow."""

import contextlib
from typing import Any

import fixtures
from nova.tests.functional.api import client

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from rt_operate.manage.read import older
from tests.functional import operations
from tests.functional import test_live_migration
from tests import proof
from tests import seeds

#: The image properties from which Nova makes a topology.
BINDING = {
    'hw_numa_nodes': '1', 'hw_mem_page_size': 'large',
    'hw_pci_numa_affinity_policy': 'preferred'}
#: The properties that Nova alone accepts in a rebuild.
AFFINITY = ('hw_pci_numa_affinity_policy', 'preferred')


class TestCase(operations.TestCase):
    """Virtual machines, on hosts with a runtime for each pCPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    HOSTS = ('host1', 'host2')

    def image(self, **properties: str) -> str:
        found = self.glance.show(None, operations.IMAGE)
        found.pop('id')
        found['properties'] = properties
        return str(self.glance.create(None, found)['id'])

    def bind(self, server: operations.Server, key: str, value: str) -> None:
        """Sets the property as ``nova-manage image_property set`` does."""
        instance = self.instance(server)
        instance.system_metadata[f'image_{key}'] = value
        instance.save()

    def assert_moves(self, server: operations.Server, to: str) -> None:
        """Moves the server cold, then by shelving, to the other host."""
        source = self.host_of(server)
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, to, 600)
        self.disable(to)
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        self.act(server, 'unshelve', None, 'ACTIVE')
        self.assert_runs(server, source, 600)

    def assert_evacuates(self, server: operations.Server) -> None:
        lost = self.lose('host1')
        self.act(server, 'evacuate', {}, 'SHUTOFF')
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)
        self.come_back('host1', lost)
        self.assert_invariants()


class RebuildTest(TestCase):

    @proof.proves(
        'Rebuild to an image with a property that dedicates CPUs',
        'Nova answers with status 400 and names the property. The server '
        'runs on.')
    def test_to_an_image_that_dedicates(self) -> None:
        server = self.reserved()
        error = self.assertRaises(
            client.OpenStackApiException, self.api.post_server_action,
            server['id'], {'rebuild': {'imageRef': self.image(
                hw_cpu_policy='dedicated')}})
        self.assertEqual(400, error.response.status_code)
        self.assertIn('image property hw_cpu_policy=', str(error))
        self.assert_runs(server, 'host1', 600)
        self.act(server, 'rebuild', {'imageRef': self.image()}, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    def test_without_a_reservation(self) -> None:
        server = self.boot_on('host1', self.rt_flavor(None, None))
        self.act(server, 'rebuild',
                 {'imageRef': self.image(**dict([AFFINITY]))}, 'ACTIVE')


class ReboundTest(TestCase):
    """Tests a rebuild whose image has a property, without the middleware."""

    MIDDLEWARE = False

    def rebuilt(self) -> operations.Server:
        self.flags(shelved_offload_time=0)
        server = self.reserved('host1')
        self.act(server, 'rebuild',
                 {'imageRef': self.image(**dict([AFFINITY]))}, 'ACTIVE')
        return server

    @proof.proves(
        'Cold migration, shelve and unshelve after a rebuild to an image '
        'with a property that binds the server',
        'The operations work as before.')
    def test_moves(self) -> None:
        self.assert_moves(self.rebuilt(), 'host2')

    @proof.proves(
        'Evacuation after a rebuild to an image with a property that binds '
        'the server',
        'The evacuation works as before.')
    def test_evacuation(self) -> None:
        self.assert_evacuates(self.rebuilt())

    @proof.proves(
        'hw_numa_nodes or hw_pci_numa_affinity_policy is set for a server '
        'with nova-manage, then evacuation',
        'The evacuation works as before.')
    def test_set_by_an_operator(self) -> None:
        for key in ('hw_numa_nodes', 'hw_pci_numa_affinity_policy'):
            with self.subTest(key=key):
                server = self.reserved('host1')
                self.bind(server, key, BINDING[key])
                self.assert_evacuates(server)
                self._delete_server(server)


RULE = 'it was refused by a later version'


def _stricter(specs: Any, properties: Any = None) -> None:
    """Refuses what binds a server to cells, as a stricter version would."""
    properties = properties or {}
    for found in ({f'hw_{key[3:]}': value for key, value in specs.items()},
                  properties):
        for key in BINDING.keys() & found.keys():
            if found[key] is not None:
                raise exception.InvalidReservation(
                    source='property', key=key, value=found[key], rule=RULE,
                    advice=conflicts.ADVICE)


class Older:
    """Servers of a version with other rules, after the upgrade from it."""

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        for name, new in (('check', _stricter),
                          ('IMAGE_PROPERTIES', tuple(BINDING))):
            self.useFixture(  # type: ignore[attr-defined]
                fixtures.MonkeyPatch(f'nova_rt.rules.conflicts.{name}', new))

    @contextlib.contextmanager
    def older_version(self) -> Any:
        """Runs a version that admits what binds a server to cells."""
        with fixtures.MonkeyPatch('nova_rt.rules.conflicts.check',
                                  lambda *args: None):
            yield

    def admitted(self) -> operations.Server:
        self.flags(shelved_offload_time=0)
        with self.older_version():
            self.bound = self.rt_flavor(60_000, 100_000,
                                        hw__numa_nodes='1')
            return self.boot_on('host1', self.bound)


class StricterTest(Older, TestCase):

    @proof.proves(
        'Upgrade to stricter rules, then cold migration, shelve and unshelve',
        'The operations work as before. New servers are refused.')
    def test_moves(self) -> None:
        server = self.admitted()
        error = self.assertRaises(
            client.OpenStackApiException, self.post, self.bound)
        self.assertIn(RULE, str(error))
        self.assert_moves(server, 'host2')

    def test_they_are_named(self) -> None:
        plain = self.reserved('host2', 300)
        self.assertEqual([], list(older.servers()))
        server = self.admitted()
        (uuid, why), = older.servers()
        self.assertEqual(server['id'], uuid)
        self.assertIn("Invalid property hw_numa_nodes=1", why)
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        self.assertEqual([uuid], [each for each, _ in older.servers()])
        # Limits of the operator are rules, too.
        self.flags(max_share=0.2, group='nova_rt')
        self.assertEqual({uuid, plain['id']}, set(dict(older.servers())))

    @proof.proves(
        'Upgrade to stricter rules, then evacuation',
        'The evacuation works as before.')
    def test_evacuation(self) -> None:
        self.assert_evacuates(self.admitted())

    @proof.proves(
        'Upgrade to stricter rules, then hard reboot, rebuild, resize and '
        'revert',
        'The operations work as before. The image of the rebuild must meet '
        'the new rules.')
    def test_life(self) -> None:
        server = self.admitted()
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.act(server, 'rebuild', {'imageRef': operations.IMAGE}, 'ACTIVE')
        self.assertIn(AFFINITY[0], self.refused(server, 'rebuild', {
            'imageRef': self.image(**dict([AFFINITY]))}))
        self.act(server, 'resize', {'flavorRef': self.flavor(300)},
                 'VERIFY_RESIZE')
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)


class StricterLiveTest(Older, test_live_migration.TestCase):

    VCPUS = 1

    def assert_moves_live(self, server: operations.Server) -> None:
        self.migrate(server, 'completed')
        self.assert_runs(server, 'host2', 600)
        self.assert_nothing_left('host1')

    @proof.proves(
        'Upgrade to stricter rules, then live migration',
        'The migration works as before. New servers are refused.')
    def test_live_migration(self) -> None:
        server = self.admitted()
        self.assertRaises(
            client.OpenStackApiException, self.post, self.bound)
        self.assert_moves_live(server)

    @proof.proves(
        'Limits of the operator lowered, then live migration',
        'The migration works as before. New servers are refused.')
    def test_under_lower_limits(self) -> None:
        flavor = self.flavor(600)
        server = self.boot_on('host1', flavor)
        self.flags(max_share=0.2, group='nova_rt')
        self.assertRaises(
            client.OpenStackApiException, self.post, flavor)
        self.assert_moves_live(server)


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_OPERATIONS')
