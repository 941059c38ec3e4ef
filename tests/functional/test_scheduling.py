# SPDX-License-Identifier: Apache-2.0

"""Which hosts get a server, and why none does."""

from nova_rt import hostmap
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
        self.assertNotIn('CPU reservation refused',
                         self.stdlog.logger.output)
        last = self.boot(flavor, status='ERROR')
        for word in ('RTShareFilter', 'does not fit', 'host1', 'host3'):
            self.assertIn(word, self.fault(last))
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
        self.assertIn('does not fit on 3 pCPU(s)', self.fault(server))
        server = self.boot(self.rt_flavor(10_000, 100_000, vcpus=2))
        self.assertEqual((1, 3), self.claim(server).cpus)
        self._delete_server(server)
        self.assert_nothing_left()

    def test_spread_and_pack(self) -> None:
        for name in ('host1', 'host2'):
            self.start_host(name)
        flavor = self.rt_flavor(10_000, 100_000)
        hosts = [self.boot(flavor)['OS-EXT-SRV-ATTR:host']
                 for _ in range(2)]
        self.assertEqual(2, len(set(hosts)))
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
        inventory = self.inventory()
        self.assertEqual(inventory['total'], inventory['reserved'])
        self.assertEqual(500_000, self.usage())
        self.assertEqual((0,), self.claim(server).cpus)
        self.assertEqual((100_000, 200_000), self.budget(server))
        refused = self.boot(flavor, status='ERROR')
        self.assertIn('No valid host', self.fault(refused))
        # A plain server is not concerned.
        self.boot(self.rt_flavor(None, None))

        self.audit()
        self.assertEqual((100_000, 200_000), self.budget(server))
        self._delete_server(server)
        self.assertEqual(0, self.usage())
        self.assertEqual({}, self.held_by_kernel())

    def test_switched_on_again(self) -> None:
        self.start_host()
        self.flags(hcbs_scheduler_available=False, group='nova_rt')
        self.restart_compute_service('host1')
        self.flags(hcbs_scheduler_available=True, group='nova_rt')
        self.restart_compute_service('host1')
        self.assertIn(hostmap.TRAIT, self.traits())
        self.boot(self.rt_flavor())


class WithoutFilterTest(base.TestCase):
    """A nova-scheduler that was not configured."""

    SCHEDULING = False

    def test_fails_closed(self) -> None:
        self.start_host()
        server = self.boot(self.rt_flavor(), status='ERROR')
        self.assertIn('is RTShareFilter enabled', self.stdlog.logger.output)
        self.assertIsNone(self.claim(server))
        self.assertEqual({}, self.guests.hosts['host1'].running)
        self.assert_nothing_left()

    def test_plain_servers_are_not_concerned(self) -> None:
        self.start_host()
        self.boot(self.rt_flavor(None, None))
