# SPDX-License-Identifier: Apache-2.0

"""Two hosts, up once for all tests of a run, and a server that moves."""

import atexit
import contextlib
import functools
import os
import pathlib
import signal

import libvirt
import openstack

from cloud.full import lifecycle
from cloud.full import services
from cloud import settings
from demo import groups
from nova_rt.rules import hostmap
from nova_rt.services.virt.libvirt import holding

from tests.cloud import base
from tests.full import base as full_base

Server = openstack.compute.v2.server.Server
Service = openstack.compute.v2.service.Service

EAST, WEST = (node.host_name for node in settings.computes.PAIR)
OTHER = {EAST: WEST, WEST: EAST}
#: Of a host that was killed, Nova learns after a minute.
PATIENCE = 90
#: MiB/s, with which the smallest guest takes 20 s to move.
SLOWLY = 1
#: MiB/s, the most that libvirt takes: as many bytes as an int64 holds
FAST = 2**43 - 1


@functools.cache
def bring_up() -> None:
    """The cloud; one that was up already is used and left alone."""
    cloud = settings.load()
    if not (cloud.pair and not lifecycle.missing(cloud)):
        atexit.register(base.cloud, 'down', '--keep-logs')
        base.cloud('up', '--pair')


class HostsTestCase(base.CloudTestCase):

    GUEST = settings.computes.PAIR[0].guest
    TIMEOUT_SCALING_FACTOR = 20
    #: The kernel gives it on every pCPU.
    RESERVATION = (40_000, 200_000)
    POLICIES = {'guest': ['SCHED_RR'], 'host': ['SCHED_OTHER']}

    @classmethod
    def bring_up(cls) -> None:
        bring_up()

    def setUp(self) -> None:
        super().setUp()
        self.compute = self.cloud.compute
        self.addCleanup(self.assert_nothing_remains)
        # A nova-compute may be up before Placement lets it in.
        self.eventually('both hosts offer reservations',
                        lambda: len(self.offering()) == len(OTHER))

    def offering(self) -> list[object]:
        """The hosts that Placement has room for a reservation on."""
        found = self.cloud.placement.get(
            f'/resource_providers?resources={hostmap.RESOURCE_CLASS}:1',
            microversion='1.20').json()
        return list(found['resource_providers'])

    def reserved(self, host: str, work: str = 'busy',
                 runtime: int = RESERVATION[0]) -> Server:
        """A server that has booted on *host*."""
        server = self.compute.create_server(
            name=self.getUniqueString(), networks='none', host=host,
            flavor_id=self.flavor(runtime, self.RESERVATION[1]),
            image_id=self.cloud.image.find_image(
                f'{self.GUEST}-{work}', ignore_missing=False).id)
        self.addCleanup(self.delete, server)
        self._active(server)
        self.eventually('it has booted', lambda: 'nova-rt guest'
                        in self.console(server))
        return server

    def ask(self, server: Server, host: str | None = None) -> None:
        """Asks for a live migration; without a host, Nova chooses one."""
        self.compute.live_migrate_server(server, host=host,
                                         block_migration='auto')

    def move(self, server: Server, host: str | None = None,
             ends: str = 'completed') -> None:
        """Asks for a live migration and waits for its end."""
        self.ask(server, host)
        self.ended(server, ends)

    def ended(self, server: Server, *ends: str) -> None:
        """Wait until Nova is done with the migration that was asked for."""
        self.eventually('Nova is done', lambda: self.compute.get_server(
            server).task_state is None)
        self.eventually(f'a migration that is {ends}', lambda: (
            self.migration(server).status in ends))

    def forgive(self, server: Server) -> None:
        """Nova 34 takes one that was aborted, and runs on, for broken."""
        self.eventually('Nova has ended the migration', lambda: not
                        self.compute.get_server(server).task_state)
        if self.compute.get_server(server).status == 'ERROR':
            self.compute.reset_server_state(server, 'active')

    def migration(self, server: Server) -> openstack.resource.Resource:
        """The latest."""
        return max(self.compute.migrations(instance_uuid=server.id),
                   key=lambda each: each.id)

    def where(self, server: Server) -> str:
        return str(self.compute.get_server(server).compute_host)

    def runs_on(self, host: str, server: Server) -> bool:
        """Returns whether libvirt has its guest there, running or arriving."""
        return bool(groups_of(host, self.domain_name(server)))

    def domain_name(self, server: Server) -> str:
        return str(self.compute.get_server(server).instance_name)

    def begins_to_move(self, server: Server) -> None:
        """Begins a long migration, and waits until there are two guests.

        The guest at the destination has its reservation.
        """
        if self.GUEST == 'kvm':
            self.skipTest('guests with KVM have too little memory to move '
                          'slowly')
        here = self.where(server)
        self.speed(server, here, SLOWLY)
        self.ask(server, OTHER[here])
        self.eventually('its reservation is in place at the destination',
                        lambda: self.is_noted(server))
        self.assertTrue(self.runs_on(OTHER[here], server))
        self.assertEqual('running', self.migration(server).status)

    def is_noted(self, server: Server) -> bool:
        """Returns whether the destination has said so, as operators see it."""
        latest = next(iter(self.compute.server_actions(server)))
        events = self.compute.get_server_action(
            latest.request_id, server).events
        return holding.EVENT in {each.event for each in events}

    def moves_on(self, server: Server, host: str) -> None:
        """Lets the guest leave the host as fast as possible."""
        self.eventually('it has moved', lambda: not self.hurry(server, host))

    def hurry(self, server: Server, host: str) -> bool:
        """Speeds a migration up; tells whether the server is still here."""
        with contextlib.suppress(libvirt.libvirtError):
            self.speed(server, host, FAST)
        return self.runs_on(host, server)

    def stored_status(self) -> str:
        """Returns the status of the latest migration of any server."""
        rows = base.host.select(self.settings, 'select status from '
                                'migrations order by id desc limit 1')
        return str(rows[0][0]) if rows else ''

    def speed(self, server: Server, host: str, mib_s: int) -> None:
        """Limits the bandwidth of a migration of the guest."""
        with connected(host) as connection:
            connection.lookupByUUIDString(
                server.id).migrateSetMaxSpeed(mib_s)

    def assert_runs(self, server: Server, host: str) -> None:
        """Asserts that only this host has the guest, with its reservation."""
        self.assertEqual(('ACTIVE', host), (
            self.compute.get_server(server).status, self.where(server)))
        found = self.on_host(server)
        wanted = found.claim.reservation
        self.assertEqual({'runtime_us': wanted.runtime_us,
                          'period_us': wanted.period_us}, found.kernel)
        self.assertEqual(self.POLICIES, base.host.policies(found))
        self.eventually('it is gone elsewhere', lambda: not self.runs_on(
            OTHER[host], server))
        self.assert_agreed()

    def assert_agreed(self) -> None:
        """Claims, Placement and both kernels; Nova's audits may be due."""
        self.eventually(
            'both hosts agree', lambda: not full_base.differences())

    def assert_in_step(self) -> None:
        self.assert_agreed()

    def _left(self) -> tuple[int, int, tuple[int, int]]:
        held = [self.cloud.placement.get(
            f'/resource_providers/{provider.id}/usages').json()['usages']
            for provider in self.cloud.placement.resource_providers()]
        return (base.host.charged(self.settings), base.host.budgets(), (
            sum(each.get(hostmap.RESOURCE_CLASS, 0) for each in held),
            sum(each.get('CUSTOM_RT_SHARE', 0) for each in held)))

    def _last_words(self, server: Server) -> str:
        return ''

    def kill(self, name: str) -> None:
        """End a service as the kernel would where memory runs out."""
        service = services.BY_NAME[name]
        pid = service.pid(self.settings)
        assert pid is not None, name
        os.kill(pid, signal.SIGKILL)
        self.eventually('it has ended',
                        lambda: service.pid(self.settings) is None)

    def start_what_was_killed(self) -> None:
        lifecycle.up(self.settings, [])


def node_of(host: str) -> str:
    return host.partition('.')[0]


def connected(host: str) -> 'Connection':
    return Connection(host)


class Connection:
    """libvirt of a host, while it is used."""

    def __init__(self, host: str) -> None:
        path = services.libvirt_socket(settings.load(), node_of(host))
        self._uri = f'qemu+unix:///system?socket={path}'

    def __enter__(self) -> libvirt.virConnect:
        self._connection = libvirt.open(self._uri)
        return self._connection

    def __exit__(self, *error: object) -> None:
        self._connection.close()


def groups_of(host: str, domain: str) -> list[pathlib.Path]:
    """The control groups of a guest on a host."""
    machine = groups.tree('cpu') / f'nova-rt-{node_of(host)}' / 'machine'
    return list(machine.glob(f'qemu-*-{domain}.libvirt-qemu'))
