# SPDX-License-Identifier: Apache-2.0

"""Tests which hosts get a server, and why none does."""

import fixtures

from nova_rt.rules import hostmap
from tests.functional import base


class MultiCreateTest(base.TestCase):
    """Packed by our weigher alone: all would go to one host."""

    WEIGHERS = ('nova_rt.scheduler.weights.RTShareWeigher',)

    def test_multi_create_fills_exactly(self) -> None:
        """Each server of one request sees what the others will take."""
        self.flags(rt_share_weight_multiplier=-1.0, group='nova_rt')
        for name in ('host1', 'host2', 'host3'):
            self.start_host(name)
        flavor = self.rt_flavor(95_000, 200_000)
        first = self.post(flavor, count=6)
        self._wait_for_state_change(first, 'ACTIVE')
        servers = self.api.get_servers()
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(6, len(servers))
        for name in self.computes:
            self.assertEqual('3.800', self.stats(name)[hostmap.SHARE_USED])
            self.assertEqual(950_000, self.host_map(name).state.charged)
            self.assert_tight(name)
        # No host had to refuse what the scheduler had chosen.
        self.assertEqual([], [
            line for line in self.stdlog.logger.output.splitlines()
            if 'CPU reservation refused' in line
            and '[nova_rt.services.scheduler.' not in line])
        last = self.boot(flavor, status='ERROR')
        self.assertEqual(
            'No valid host was found. 95000 us every 200000 us (share 0.475) '
            'does not fit on 1 pCPU of any host; choose a flavor with a '
            'smaller share (runtime / period) or fewer vCPUs',
            self.fault(last))
        self.assertIn('any host: no host with the trait CUSTOM_HCBS has any '
                      'free CUSTOM_RT_SHARE', self.stdlog.logger.output)
        for server in (*servers, last):
            self._delete_server(server)
        self.assert_nothing_left(*self.computes)


class SchedulingTest(base.TestCase):
    """Several hosts, each with four pCPUs."""

    def test_multi_create_that_does_not_fit_takes_nothing(self) -> None:
        for name in ('host1', 'host2'):
            self.start_host(name)
        first = self.post(self.rt_flavor(95_000, 200_000), count=5)
        self._wait_for_state_change(first, 'ERROR')
        self.assert_nothing_left(*self.computes)

    def test_more_vcpus_than_pcpus(self) -> None:
        self.flags(rt_cpus='1,3', group='nova_rt')
        self.start_host()
        server = self.boot(self.rt_flavor(10_000, 100_000, vcpus=3),
                           status='ERROR')
        self.assertIn('does not fit on 3 pCPUs of any host; choose a '
                      'flavor', self.fault(server))
        self.assertNotIn('host1', self.fault(server))
        self.assertIn('host1 has 2 pCPUs, the emptiest with 0.950 free',
                      self.stdlog.logger.output)
        server = self.boot(self.rt_flavor(10_000, 100_000, vcpus=2))
        self.assertEqual((1, 3), self.claim(server).cpus)
        self._delete_server(server)
        self.assert_nothing_left()

    def test_isolated_aggregate(self) -> None:
        """Nova's own way to keep other servers off special hosts."""
        self.flags(enable_isolated_aggregate_filtering=True,
                   group='scheduler')
        self.start_host()
        aggregate = self.api.post_aggregate({'aggregate': {
            'name': 'reservations'}})
        self.api.add_host_to_aggregate(aggregate['id'], 'host1')
        self.api.post_aggregate_action(aggregate['id'], {'set_metadata': {
            'metadata': {'trait:CUSTOM_HCBS': 'required'}}})
        self.boot(self.rt_flavor())
        self.boot(self.rt_flavor(None, None), status='ERROR')

    def test_spread_and_pack(self) -> None:
        for name in ('host1', 'host2'):
            self.start_host(name)
        flavor = self.rt_flavor(10_000, 100_000)
        hosts = [self.boot(flavor)['OS-EXT-SRV-ATTR:host']
                 for _ in range(2)]
        # Where it was sent, no build failed and was sent elsewhere.
        self.assertNotIn('Error from last host', self.stdlog.logger.output)
        self.assertEqual(2, len(set(hosts)), hosts)
        self.boot(flavor)
        fuller = max(self.computes,
                     key=lambda host: self.host_map(host).state.charged)
        self.flags(rt_share_weight_multiplier=-100.0, group='nova_rt')
        for _ in range(2):
            self.assertEqual(
                fuller, self.boot(flavor)['OS-EXT-SRV-ATTR:host'])

    def test_switched_off(self) -> None:
        """Servers keep what they have; nobody gets more."""
        self.start_host()
        flavor = self.rt_flavor(100_000, 200_000)
        server = self.boot(flavor)
        self.flags(hcbs_scheduler_available=False, group='nova_rt')
        self.restart_compute_service('host1')

        self.assertEqual('0.000', self.stats()[hostmap.SHARE])
        self.assertNotIn(hostmap.TRAIT, self.traits())
        self.assert_all_reserved()
        self.assertEqual((500_000, 500_000), self.usage())
        self.assertEqual((0,), self.claim(server).cpus)
        self.assertEqual((100_000, 200_000), self.budget(server))
        refused = self.boot(flavor, status='ERROR')
        self.assertIn('No valid host', self.fault(refused))
        # A plain server is not concerned.
        self.boot(self.rt_flavor(None, None))

        self.audit()
        self.assert_all_reserved()
        self.assertEqual((100_000, 200_000), self.budget(server))
        self._delete_server(server)
        self.assertEqual((0, 0), self.usage())
        self.assertEqual({}, self.kernel_budgets())

    def assert_all_reserved(self, host: str = 'host1') -> None:
        found = self.inventories(host)
        self.assertEqual(set(hostmap.CLASSES), set(found))
        for each in found.values():
            self.assertEqual(each['total'], each['reserved'])

    def test_switched_on_again(self) -> None:
        self.start_host()
        self.flags(hcbs_scheduler_available=False, group='nova_rt')
        self.restart_compute_service('host1')
        self.flags(hcbs_scheduler_available=True, group='nova_rt')
        self.restart_compute_service('host1')
        self.assertIn(hostmap.TRAIT, self.traits())
        self.boot(self.rt_flavor())

    def test_switched_off_before_it_ever_took_any(self) -> None:
        self.flags(hcbs_scheduler_available=False, group='nova_rt')
        self.start_host()
        self.audit()
        self.assertEqual({}, self.inventories())


class PlacementTests:
    """The refusals of Placement by itself, on any kernel."""

    def setUp(self) -> None:
        super().setUp()
        # RTShareFilter lets everything pass, so that it cannot be what
        # refused; and a server goes to the fullest host it is offered.
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.rules.cpus.fits', lambda state, vcpus, bandwidth: True))
        self.flags(rt_share_weight_multiplier=-100.0, group='nova_rt')
        self.flavor = self.rt_flavor(60_000, 100_000)
        self.wanted = hostmap.amounts(1, 600_000)

    def assert_not_offered(self) -> None:
        """No host was chosen that had to refuse then."""
        self.assertEqual(set(), self.offered(self.wanted))
        server = self.boot(self.flavor, status='ERROR')
        self.assertIn('No valid host was found. 60000 us every 100000 us '
                      '(share 0.600) does not fit on 1 pCPU of any host',
                      self.fault(server))
        self.assertNotIn('CPU reservation refused',
                         self.stdlog.logger.output)

    def test_as_wide_as_the_host(self) -> None:
        self.start_host()
        server = self.boot(self.rt_flavor(60_000, 100_000, vcpus=4))
        self.assertEqual((2_400_000, 600_000), self.allocated(server))

    def test_a_share_beyond_the_cap(self) -> None:
        self.flags(cpu_cap=0.5, group='nova_rt')
        self.start_host()
        self.assertEqual({'host1'}, self.offered(hostmap.amounts(4, 500_000)))
        self.assertEqual(set(), self.offered(hostmap.amounts(1, 500_001)))
        self.assert_not_offered()


class ReplicatedPlacementTest(PlacementTests, base.TestCase):
    """One pool for each host."""

    def test_a_host_that_is_used_up(self) -> None:
        both = {self.start_host(name) for name in ('host1', 'host2')}
        left = set(both)
        for _ in range(2):
            self.assertEqual(left, self.offered(self.wanted))
            server = self.boot(self.flavor)
            left.remove(server['OS-EXT-SRV-ATTR:host'])
        self.assert_not_offered()
        # The pool is what is used up; in all there is room.
        self.assertEqual(both, self.offered(
            {hostmap.RESOURCE_CLASS: self.wanted[hostmap.RESOURCE_CLASS]}))
        self.assertEqual(both, self.offered(hostmap.amounts(4, 350_000)))
        self.assertEqual(set(), self.offered(hostmap.amounts(1, 350_001)))

    def test_room_comes_back(self) -> None:
        self.start_host()
        server = self.boot(self.rt_flavor(60_000, 100_000, vcpus=2))
        self.assertEqual((1_200_000, 600_000), self.usage())
        self.assertEqual(set(), self.offered(self.wanted))
        self._delete_server(server)
        self.assertEqual({'host1'}, self.offered(self.wanted))

    def test_two_servers_on_two_pcpus(self) -> None:
        self.flags(rt_cpus='0-1', group='nova_rt')
        self.start_host()
        self.boot(self.flavor)
        self.assert_not_offered()
        self.assertIn('the largest free CUSTOM_RT_SHARE is 0.350 pCPUs '
                      '(host1)', self.stdlog.logger.output)


class PerCpuPlacementTest(PlacementTests, base.PerCpuTestCase):
    """One pool for each pCPU."""

    def test_two_servers_on_two_pcpus(self) -> None:
        self.flags(rt_cpus='0-1', group='nova_rt')
        self.start_host()
        servers = [self.boot(self.flavor) for _ in range(2)]
        self.assertEqual([(0,), (1,)], sorted(
            self.claim(server).cpus for server in servers))
        self.assertEqual((1_200_000, 1_200_000), self.usage())
        # Placement knows sums only; the claim knows the pCPUs.
        self.assertEqual({'host1'}, self.offered(self.wanted))
        self.boot(self.flavor, status='ERROR')
        self.assertIn('CPU reservation refused', self.stdlog.logger.output)

    def test_a_pcpu_that_is_used_up_is_no_host_that_is(self) -> None:
        self.start_host()
        self.boot(self.rt_flavor(95_000, 100_000))
        self.assertEqual({'host1'}, self.offered(hostmap.amounts(3, 950_000)))
        self.assertEqual(set(), self.offered(hostmap.amounts(4, 950_000)))


class WithoutFilterTest(base.TestCase):
    """A nova-scheduler that was not configured."""

    SCHEDULING = False

    def test_fails_closed(self) -> None:
        self.start_host()
        server = self.boot(self.rt_flavor(), status='ERROR')
        self.assertIn('enable RTShareFilter', self.stdlog.logger.output)
        self.assertIsNone(self.claim(server))
        self.assertEqual({}, self.guests.hosts['host1'].running)
        self.assert_nothing_left()

    def test_plain_servers_are_not_concerned(self) -> None:
        self.start_host()
        self.boot(self.rt_flavor(None, None))
