# SPDX-License-Identifier: Apache-2.0

from osc_lib import exceptions

from nova_rt.rules import hostmap
from rt_client import hosts
from tests.unit import base as unit
from tests.unit.rt_client import base


class HostsTest(base.TestCase):

    hosts = (base.host('a', [400_000, 0], release='0.1', interface='hcbs',
                       strangers=(hostmap.Stranger(
                           'u', 'instance-9', (((1,), unit.share(5)),)),)),
             base.host('b', []),
             {'host': 'c', 'node': 'c', 'provider': 'x', 'stats': {}})
    servers = (base.server(1, 'a', [0]),)

    def test_list(self):
        self.assertEqual([
            ['a', '2', '1.900', '0.400', '1.500', '0.950', 'hcbs', '0.1',
             'instance-9 (u) holds 5 us every 1000000 us (share 0.000) on '
             'pCPU 1, but Nova has no such server here'],
            ['b', '0', '0.000', '0.000', '0.000', '0.000', '', '',
             'offers no reservations'],
            ['c', '0', '0.000', '0.000', '0.000', '0.000', '', '',
             'nova-rt publishes nothing that this client can read']],
            self.rows(hosts.ListHosts))
        self.assertEqual(2, len(self.compute.asked))

    def test_trouble_only(self):
        self.compute.answers['/nova-rt/hosts'] = (200, {'hosts': [
            base.host('a', [0]), base.host('b', [])]})
        self.assertEqual(['b'], [row[0] for row in self.rows(
            hosts.ListHosts, '--trouble')])

    def test_numbers_for_programs(self):
        _, (row, *_) = self.run_command(hosts.ListHosts)
        self.assertEqual(1.9, row[2].machine_readable())

    def test_show(self):
        self.compute.answers['/nova-rt/hosts'] = (
            200, {'hosts': [self.hosts[0]]})
        self.assertEqual([
            ['0', '0.950', '0.400', '0.550',
             '0.400 s1 (00000001-0000-0000-0000-000000000000)'],
            ['1', '0.950', '0.000', '0.950',
             '0.000 instance-9 (u), unknown to Nova here']],
            self.rows(hosts.ShowHost, 'a'))

    def test_show_soft_reservations(self):
        """Two of them have equal parts of what is free."""
        self.compute.answers['/nova-rt/hosts'] = (200, {'hosts': [
            base.host('a', [600_000, 200_000])]})
        self.compute.answers['/nova-rt/servers'] = (200, {
            'next': '', 'servers': [
                base.server(1, 'a', [0], 20_000, soft=True),
                base.server(2, 'a', [0], 40_000),
                base.server(3, 'a', [1], 20_000, soft=True)]})
        first, second = self.rows(hosts.ShowHost, 'a')
        self.assertEqual(
            '0.200 s1 (00000001-0000-0000-0000-000000000000), soft: at most '
            '0.550 now\n0.400 s2 (00000002-0000-0000-0000-000000000000)',
            first[-1])
        self.assertTrue(second[-1].endswith('soft: at most 0.950 now'))

    def test_show_of_no_host(self):
        self.compute.answers['/nova-rt/hosts'] = (200, {'hosts': []})
        error = self.assertRaises(exceptions.CommandError, self.rows,
                                  hosts.ShowHost, 'z')
        self.assertEqual('There is no host z with nova-compute.', str(error))

    def assertRaises(self, kind, call, *args):
        with super().assertRaises(kind) as found:
            call(*args)
        return found.exception

    def test_a_nova_without_nova_rt(self):
        del self.compute.answers['/nova-rt/hosts']
        error = self.assertRaises(exceptions.CommandError, self.rows,
                                  hosts.ListHosts)
        self.assertIn('needs the filter reservation_hints', str(error))

    def test_a_user_who_may_not(self):
        self.compute.answers['/nova-rt/hosts'] = (403, {'forbidden': {
            'message': "Policy doesn't allow x.", 'code': 403}})
        error = self.assertRaises(exceptions.CommandError, self.rows,
                                  hosts.ListHosts)
        self.assertEqual("You may not do this: Policy doesn't allow x.",
                         str(error))


class DownTest(base.TestCase):

    hosts = (base.host('a', [960_000, 0]),)
    up = ('down', 'enabled')

    def test_each_trouble_has_a_line(self):
        self.assertEqual(
            'nova-compute does not answer\n'
            'more is claimed than the cap allows on pCPU 0',
            self.rows(hosts.ListHosts)[0][-1])


class DisabledTest(base.TestCase):

    hosts = (base.host('a', [0]),)
    up = ('up', 'disabled')

    def test_it_is_said(self):
        self.assertEqual('nova-compute is disabled',
                         self.rows(hosts.ListHosts)[0][-1])
