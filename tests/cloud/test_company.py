# SPDX-License-Identifier: Apache-2.0

"""Tests that reserved, busy servers on one pCPU get their share, and no more.

Environment: NOVA_RT_SETS is how many random sets of containers are watched,
NOVA_RT_SETS_QEMU how many sets of virtual machines, and NOVA_RT_SETS_SEED the
first seed.
"""

import os
import time

import openstack

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from tests.cloud import base
from tests.cloud import company
from tests import proof
from tests import seeds

SETS = int(os.environ.get('NOVA_RT_SETS', '2'))
QEMU_SETS = int(os.environ.get('NOVA_RT_SETS_QEMU', '1'))
SEED = int(os.environ.get('NOVA_RT_SETS_SEED', '1'))

SECONDS = 10
LEAST, MOST = 0.98, 1.02
#: in periods
WINDOWS = (2, 4, 10)
#: of [nova_rt] guest_priority
LOWEST = 10

SHORT, LONG, NEIGHBOUR = (reservation.Reservation(*each) for each in (
    (30_000, 100_000), (200_000, 1_000_000), (120_000, 400_000)))
#: They fit on one pCPU only if the second one is divided.
ALIKE = (reservation.Reservation(43_000, 100_000),
         reservation.Reservation(42_000, 100_000))


class TestCase(base.CloudTestCase):
    """Tests in which all reserved servers are on the host's second pCPU."""

    SETTINGS = ('nova_rt.rt_cpus=1',)
    #: of the sets that are drawn
    MOST_SERVERS = 5
    LEAST_SHARE = 0.02

    def state(self) -> cpus.CpuBandwidth:
        """Returns what nova-compute publishes."""
        stats, = base.host.published(self.settings)
        return hostmap.from_stats(stats).state

    def start(self, *wanted: reservation.Reservation
              ) -> list[openstack.compute.v2.server.Server]:
        """Returns busy servers with these reservations."""
        flavor = self.flavor()
        servers = [self.begin(flavor, {
            'cpu.rt_runtime_us': each.runtime_us,
            'cpu.rt_period_us': each.period_us}) for each in wanted]
        return [self._active(server) for server in servers]

    def shares(self, *servers: openstack.compute.v2.server.Server,
               seconds: float = SECONDS) -> list[float]:
        """Returns what each gets, in parts of what it reserved."""
        found = [self.on_host(server) for server in servers]
        measured = base.measure.shares(found, seconds)
        return [measured[each.name] / each.claim.reservation.share
                for each in found]

    def assert_priorities(
            self, *servers: openstack.compute.v2.server.Server) -> None:
        rule = self.state().rule
        for server in map(self.on_host, servers):
            period_us = server.claim.in_kernel.period_us
            self.assertEqual([LOWEST + rule.level(period_us)],
                             base.host.priorities(server))

    def watch(self, number: int) -> list[str]:
        """Watches one random set; returns sentences about what is wrong."""
        wanted = company.draw(f'{SEED} {number}', self.empty,
                              self.MOST_SERVERS, self.LEAST_SHARE)
        servers = self.start(*wanted)
        self.booted(servers)
        self.assert_priorities(*servers)
        found = self.shares(*servers)
        for server in servers:
            self.cloud.compute.delete_server(server)
        for server in servers:
            self.delete(server)
        rows = [f'{SEED} {number}: {each.runtime_us:7}/{each.period_us:7} us '
                f'{each.share:.4f} gets {share:.4f} of it'
                for each, share in zip(wanted, found, strict=True)]
        print('\n'.join(rows))
        return [row for row, share in zip(rows, found, strict=True)
                if not LEAST <= share <= MOST]

    def booted(self, servers: list[openstack.compute.v2.server.Server]
               ) -> None:
        """Returns at once: a container is busy from the start."""

    def random_sets(self, count: int) -> None:
        self.empty = self.state()
        self.assertEqual((0,), self.empty.used)
        wrong = [row for number in range(count)
                 for row in self.watch(number)]
        self.assertEqual([], wrong, '\n'.join(wrong))
        self.assert_nothing_left()


class ContainersTest(TestCase):

    def test_random_sets(self) -> None:
        self.random_sets(SETS)

    def test_neighbours_come_and_go(self) -> None:
        """Checks that each gets its runtime while others start and stop."""
        servers = self.start(SHORT, LONG)
        end = time.monotonic() + WINDOWS[-1] * LONG.period_us / 1e6
        with company.Watch(*map(self.on_host, servers)) as watch:
            while time.monotonic() < end:
                neighbour, = self.start(NEIGHBOUR)
                self.shares(neighbour, seconds=1)
                self.delete(neighbour)
            self.shares(*servers, seconds=2)
        for periods in WINDOWS:
            # Any window contains at least one whole period less than its
            # length.
            self.assertGreater(min(watch.least(periods)),
                               LEAST * (periods - 1), periods)

    def test_life(self) -> None:
        """Checks share and priority after all that ends and starts a guest."""
        server, neighbour = self.start(SHORT, LONG)
        compute = self.cloud.compute
        self.assert_company(server, neighbour)
        for kind in ('SOFT', 'HARD'):
            self.reboot(server, kind)
            self.assert_company(server, neighbour)
        compute.resize_server(server, self.flavor(10_000, 50_000))
        compute.wait_for_server(server, status='VERIFY_RESIZE',
                                wait=base.PATIENCE, interval=0.1)
        self.assert_company(server, neighbour)
        compute.confirm_server_resize(server)
        self._active(server)
        base.cloud('restart')
        self.assert_company(server, neighbour)

    def assert_company(self, *servers: openstack.compute.v2.server.Server
                       ) -> None:
        self.assert_priorities(*servers)
        for share in self.shares(*servers, seconds=3):
            self.assertTrue(LEAST <= share <= MOST, share)


class MachinesTestCase(TestCase):
    """Tests with virtual machines, whose CPUs QEMU emulates."""

    GUEST = 'qemu'
    MOST_SERVERS = 4
    # An emulated machine must be able to boot with this reservation.
    LEAST_SHARE = 0.12

    def booted(self, servers: list[openstack.compute.v2.server.Server]
               ) -> None:
        for server in servers:
            self.eventually(f'{server.name} is busy', lambda server=server: (
                'vCPUs busy' in self.console(server)))


class MachinesTest(MachinesTestCase):

    def test_random_sets(self) -> None:
        self.random_sets(QEMU_SETS)


class DividedMachinesTest(MachinesTestCase):
    """Two virtual machines that fit on a pCPU only divided for the kernel."""

    SETTINGS = (*TestCase.SETTINGS, 'nova_rt.min_divided_runtime_us=100')

    @proof.proves(
        'Create two real virtual machines that fit on a pCPU only divided',
        'Each gets its share, within 0.98 of it, before and after an audit '
        'that restores the divided runtime.')
    def test_two(self) -> None:
        """Each has its share, and the audit restores what was divided."""
        if self.state().rule is None:
            self.skipTest('the kernel runs servers by EDF')
        servers = self.start(*ALIKE)
        self.booted(servers)
        held = [self.claim(server) for server in servers]
        # Either one may have been claimed first.
        first, second = sorted(claim.divisor for claim in held)
        self.assertEqual(1, first)
        self.assertGreater(second, 1)
        for server, claim in zip(servers, held, strict=True):
            self.assertEqual({'runtime_us': claim.in_kernel.runtime_us,
                              'period_us': claim.in_kernel.period_us},
                             self.on_host(server).kernel)
        self.assert_priorities(*servers)
        for share in self.shares(*servers):
            print(f'{share:.4f} of what it reserved')
            self.assertTrue(LEAST <= share <= MOST, share)
        self.assert_in_step()
        self.assert_mended(*[server for server, claim in zip(
            servers, held, strict=True) if claim.divisor == second])
        for share in self.shares(*servers):
            print(f'{share:.4f} of what it reserved, after the audit')
            self.assertTrue(LEAST <= share <= MOST, share)
        self.assert_in_step()

    def assert_mended(self, server: openstack.compute.v2.server.Server
                      ) -> None:
        """Lowers the runtime by hand, which the audit must take back."""
        before = self.on_host(server)
        wanted = before.kernel  # The property reads the kernel each time.
        group = before.below('cpu') / before.own_groups[0]
        base.take(group, wanted['runtime_us'] // 2)
        self.eventually('the divided budget', lambda: self.on_host(
            server).kernel == wanted)


load_tests = seeds.load_of_the_day(__name__, 1, 'NOVA_RT_SETS')
