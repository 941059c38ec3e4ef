# SPDX-License-Identifier: Apache-2.0

"""A nova-compute that knows neither masks nor NUMA cells, beside new ones.

host1 runs the code of an earlier commit (see ``older``); all other services
and hosts run the present code.  Everything else is as in the other functional
tests.  NOVA_RT_BESIDE runs all tests with each kind of server that the earlier
version does not know; without it there is one test a day, with one kind.
"""

from collections.abc import Iterator
import contextlib
import os
from typing import Any
import unittest

import fixtures

from nova_rt.rules import reservation
from tests.emulation import tasks as emulated
from tests.functional import guests
from tests.functional import older
from tests.functional import operations
from tests.functional import test_live_migration
from tests.functional import test_numa
from tests import seeds

OLD, NEW, THIRD = 'host1', 'host2', 'host3'
_PRESENT = 'nova_rt.RTLibvirtDriver'
#: The microversions in which an operator may force a destination.
_FORCED = '2.67'
_WHOLE = 'NOVA_RT_BESIDE'


class Older(test_numa.TestCase):
    """A mixin in which the hosts of ``older_hosts`` run the older package."""

    HOSTS = (OLD, NEW, THIRD)

    def setUp(self) -> None:
        if not older.is_available():
            self.skipTest('the history of git lacks the commit of the '
                          'earlier version: fetch the whole history')
        older.install()
        self.older_hosts = {OLD}
        self._replace(emulated.DEADLINE)
        super().setUp()

    def _configure(self) -> None:
        super()._configure()
        self.flags(group=older.NAME, **self.TENANTS)

    def _emulate_kernels(self) -> None:
        super()._emulate_kernels()
        hosts = self.guests.hosts
        self._replace({
            **emulated.THREADS,
            'nova_rt.services.virt.libvirt.driver.RTLibvirtDriver._rt_files':
                lambda driver: hosts[driver.virtapi._compute.host].kernel,
            'nova_rt.machine.privsep.cgroup_pctxt.client_mode': False,
            'nova_rt.machine.host.namespaces.trouble': lambda host: '',
            'nova_rt.machine.kernel.tree.time': self.clock,
            'nova_rt.machine.kernel.tasks.Tasks': None,
            'nova_rt.machine.privsep.read_pid': guests.read_pid,
            'nova_rt.services.virt.libvirt.driver.libvirt':
                test_numa.fakelibvirt})

    def _replace(self, present: dict[str, Any]) -> None:
        for name, new in older.replacements(present).items():
            self.useFixture(fixtures.MonkeyPatch(name, new))

    @contextlib.contextmanager
    def _version_of(self, host: str) -> Iterator[None]:
        driver = (older.DRIVER if host in self.older_hosts else _PRESENT)
        self.flags(compute_driver=driver)
        yield
        self.assertEqual(driver.partition('.')[0], type(
            self.computes[host].driver).__module__.partition('.')[0])

    def start_host(self, name: str = 'host1', cell: str | None = None
                   ) -> str:
        with self._version_of(name):
            return super().start_host(name, cell)

    def restart_compute_service(self, host: str, *args: Any, **kwargs: Any
                                ) -> Any:
        with self._version_of(host):
            return super().restart_compute_service(host, *args, **kwargs)

    # Flavors that the older version does not know.

    def masked(self, share: int = 300) -> str:
        return self.rt_flavor(share * 100, 100_000, 2, **{
            reservation.MASK_KEY: '^0'})

    def in_core(self) -> str:
        return self.rt_flavor(30_000, 100_000, 2, **{
            reservation.SMT_KEY: 'core'})

    def new_kinds(self) -> dict[str, str]:
        """Flavors of all kinds, or of the one kind of the day."""
        in_cell = {reservation.MASK_KEY.replace(':', '__'): '^0'}
        every = {'mask': self.masked(), 'numa': self.bound(300, 2),
                 'core': self.in_core(),
                 'mask in a cell': self.bound(300, 2, **in_cell)}
        if os.environ.get(_WHOLE):
            return every
        kind = seeds.sample(self.id()).choice(sorted(every))
        return {kind: every[kind]}


class PlacementTest(Older):
    """Returns the hosts that servers go to."""

    def test_scheduled(self) -> None:
        for kind, flavor in self.new_kinds().items():
            servers = [self.boot(flavor) for _ in range(2)]
            self.assertNotIn(OLD, map(self.host_of, servers), kind)
            self.boot_on(OLD, flavor, 'ERROR')
        self.assert_nothing_left(OLD)
        plain = self.boot_on(OLD, self.flavor(600))
        self.assert_runs(plain, OLD, 600)
        self.assert_invariants()
        self.assert_nothing_remains()


class RefusedTest(Older):
    """Tests the older compute's answer to a server that it must not get."""

    def forced(self, flavor: str) -> operations.Server:
        """Creates a server on the older host, without the filters."""
        body = self.request(flavor)
        body['server']['availability_zone'] = f'nova:{OLD}'
        created = self.api.post_server(body)
        return dict(self._wait_for_state_change(created, 'ERROR'))

    def test_created_past_the_filters(self) -> None:
        for kind, flavor in self.new_kinds().items():
            if kind == 'core':
                continue  # The older version does not read this key.
            server = self.forced(flavor)
            self.assertIsNone(self.claim(server), kind)
            self.assert_nothing_left(OLD)
            self._delete_server(server)
        self.assert_invariants()

    def test_evacuated_past_the_filters(self) -> None:
        """The older host reads nothing of a claim in the new form."""
        server = self.boot_on(NEW, self.masked())
        lost = self.lose(NEW)
        self.api.microversion = _FORCED
        self.refused(server, 'evacuate', {'host': OLD, 'force': True})
        self.api.microversion = 'latest'
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': None},
            wait_for_fault_key=False)
        self.assertEqual(NEW, self.host_of(server))
        self.assertEqual([], self.computes[OLD].manager.rt.rt_claims())
        self.assertEqual({}, self.held_by_kernel(OLD))
        self.come_back(NEW, lost)
        self.assert_invariants()
        # The older host still takes the kinds of servers that it knows.
        self.assert_runs(self.boot_on(OLD, self.flavor(600)), OLD, 600)

    def test_cells_past_the_filters(self) -> None:
        """The claim has a form that the older host reads: nothing is lost."""
        server = self.boot_on(NEW, self.bound(600, 2))
        lost = self.lose(NEW)
        self.api.microversion = _FORCED
        self.api.post_server_action(server['id'], {
            'evacuate': {'host': OLD, 'force': True}})
        self.api.microversion = 'latest'
        self._wait_for_server_parameter(server, {
            'OS-EXT-SRV-ATTR:host': OLD, 'OS-EXT-STS:task_state': None,
            'status': 'ACTIVE'})
        self.assert_safe(OLD)
        self.boot_on(OLD, self.flavor(600, 3), 'ERROR')
        self.come_back(NEW, lost)
        self.assert_invariants()
        self.assert_nothing_left(NEW)
        self.assert_nothing_remains()

    def test_a_claim_on_a_host_that_was_downgraded(self) -> None:
        server = self.boot_on(NEW, self.masked())
        plain = self.boot_on(NEW, self.flavor(300))
        budgets = self.kernel(NEW).budgets()
        self.older_hosts.add(NEW)
        self.restart_compute_service(NEW)
        self.audit(NEW)
        self.assertEqual(budgets, self.kernel(NEW).budgets())
        self.assertIn('Cannot read the claim', self.stdlog.logger.output)
        self.boot_on(NEW, self.flavor(100), 'ERROR')
        self.refused(server, 'reboot', {'type': 'HARD'})
        self.older_hosts.remove(NEW)
        self.restart_compute_service(NEW)
        for each in (server, plain):
            self.act(each, 'reboot', {'type': 'HARD'}, 'ACTIVE')
            self.assert_runs(each, NEW, 300)
        self.boot_on(NEW, self.flavor(100))
        self.assert_invariants()
        self.assert_nothing_remains()


class MovesTest(Older):
    """Servers move between the versions, and from one form to another."""

    def test_upgrade_in_place(self) -> None:
        server = self.boot_on(OLD, self.flavor(600))
        claim = self.claimed(server)
        self.older_hosts.clear()
        self.restart_compute_service(OLD)
        self.assert_invariants()
        self.assertEqual(claim, self.claimed(server))
        for kind, flavor in self.new_kinds().items():
            self.assertEqual(OLD, self.host_of(self.boot_on(OLD, flavor)),
                             kind)
        self.assert_invariants()
        self.assert_nothing_remains()

    def test_cold_both_ways(self) -> None:
        self.disable(THIRD)
        server = self.boot_on(OLD, self.flavor(600))
        for target in (NEW, OLD):
            source = self.host_of(server)
            self.act(server, 'migrate', None, 'VERIFY_RESIZE')
            self.act(server, 'revertResize', None, 'ACTIVE')
            self.assert_runs(server, source, 600)
            self.act(server, 'migrate', None, 'VERIFY_RESIZE')
            self.act(server, 'confirmResize', None, 'ACTIVE')
            self.assert_runs(server, target, 600)
        self.assert_nothing_left(NEW)
        self.assert_nothing_remains()

    def test_resized_from_an_older_host(self) -> None:
        """The older source cannot read the server's claim on another host."""
        for kind, flavor in self.new_kinds().items():
            server = self.boot_on(OLD, self.flavor(600, 2))
            for action, host in (('revertResize', OLD),
                                 ('confirmResize', '')):
                self.act(server, 'resize', {'flavorRef': flavor},
                         'VERIFY_RESIZE')
                self.assertNotEqual(OLD, self.host_of(server), kind)
                # A claim that the host cannot read does not close the host.
                beside = self.boot_on(OLD, self.flavor(300))
                self.act(server, action, None, 'ACTIVE')
                self._delete_server(beside)
                self.assertIn(host, ('', self.host_of(server)), kind)
            self.assert_nothing_left(OLD)
            self.resize_back(server, 'mask' in kind)
            self._delete_server(server)
        self.assert_nothing_remains()

    def resize_back(self, server: operations.Server, masked: bool) -> None:
        """The older host takes a server back if it reads its claim."""
        for flavor in (self.flavor(200), self.rt_flavor(None, None)):
            self.disable_all_but(OLD)
            if masked:
                answer = self.refused(server, 'resize', {'flavorRef': flavor})
                self.assertIn('NoValidHost', answer)
                self.enable_all()
            self.act(server, 'resize', {'flavorRef': flavor},
                     'VERIFY_RESIZE')
            self.assertEqual(masked, self.host_of(server) != OLD)
            self.act(server, 'revertResize', None, 'ACTIVE')
            self.enable_all()

    def test_no_way_back_to_an_older_host(self) -> None:
        """Resizes, migrations and evacuations of what it does not know."""
        self.disable(THIRD)
        for kind, flavor in self.new_kinds().items():
            server = self.boot_on(NEW, flavor)
            self.refused(server, 'migrate')
            self._wait_for_server_parameter(
                server, {'OS-EXT-STS:task_state': None},
                wait_for_fault_key=False)
            self.assertEqual(NEW, self.host_of(server), kind)
            self.assert_nothing_left(OLD)
            self.assert_invariants()
            self._delete_server(server)

    def test_evacuated(self) -> None:
        """Moves a server to a new host if the older host cannot take it."""
        plain = self.boot_on(OLD, self.flavor(300))
        servers = {kind: self.boot_on(NEW, flavor)
                   for kind, flavor in self.new_kinds().items()}
        lost = self.lose(NEW)
        for kind, server in servers.items():
            self.act(server, 'evacuate', {}, 'SHUTOFF')
            self.act(server, 'os-start', None, 'ACTIVE')
            self.assertEqual(THIRD, self.host_of(server), kind)
        self.come_back(NEW, lost)
        self.assert_nothing_left(NEW)
        gone = self.lose(OLD)
        self.act(plain, 'evacuate', {}, 'SHUTOFF')
        self.act(plain, 'os-start', None, 'ACTIVE')
        self.come_back(OLD, gone)
        self.assert_nothing_left(OLD)
        self.assert_nothing_remains()

    def test_shelved(self) -> None:
        self.flags(shelved_offload_time=0)
        for flavor in self.new_kinds().values():
            server = self.boot_on(NEW, flavor)
            self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
            self.act(server, 'unshelve', None, 'ACTIVE')
            self.assertNotEqual(OLD, self.host_of(server))
        self.assert_nothing_remains()

    def test_more_of_the_same_reservation(self) -> None:
        """A new compute keeps the guest running, an older one does not."""
        self.disable(THIRD)
        server = self.boot_on(OLD, self.twin(300, 1))
        self.act(server, 'resize', {'flavorRef': self.twin(600, 1)},
                 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertEqual(600, self.share(server))
        self.assert_runs(server, self.host_of(server), 600)
        self.assert_nothing_remains()

    def disable_all_but(self, host: str) -> None:
        self.enable_all()
        for other in set(self.HOSTS) - {host}:
            self.disable(other)

    def enable_all(self) -> None:
        for service in self.api.get_services(binary='nova-compute'):
            self.api.put_service(service['id'], {'status': 'enabled'})


class LiveTest(Older, test_live_migration.TestCase):
    """Live migrations between the versions."""

    HOSTS = (OLD, NEW)
    VIRT_TYPE = 'qemu'
    KERNEL = 'stock'

    def test_from_an_older_host(self) -> None:
        server = self.boot_on(OLD, self.flavor(600, 2))
        self.migrate(server, 'completed')
        self.assert_runs(server, NEW, 600)
        self.assert_nothing_left(OLD)

    def test_to_an_older_host(self) -> None:
        self.older_hosts = {NEW}
        for host in self.HOSTS:
            self.restart_compute_service(host)
        server = self.boot_on(OLD, self.flavor(600, 2))
        self.migrate(server, 'completed')
        self.assert_runs(server, NEW, 600)
        self.assert_nothing_left(OLD)

    def test_refused_by_an_older_host(self) -> None:
        """Bypasses the scheduler: the older host does not read the claim."""
        self.older_hosts = {NEW}
        for host in self.HOSTS:
            self.restart_compute_service(host)
        server = self.boot_on(OLD, self.masked())
        before = self.claimed(server)
        self.api.microversion = _FORCED
        self.refused(server, 'os-migrateLive', {
            'host': NEW, 'force': True, 'block_migration': 'auto'})
        self.api.microversion = 'latest'
        self.assert_ended(server, 'error')
        self.assertEqual(before, self.claimed(server))
        self.assert_nothing_left(NEW)
        self.assertEqual([], self.alive(NEW))


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    return seeds.tests_of_the_day(__name__, (
        loader.loadTestsFromTestCase(case) for case in (
            PlacementTest, RefusedTest, MovesTest, LiveTest)), 1, _WHOLE)
