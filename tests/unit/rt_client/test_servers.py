# SPDX-License-Identifier: Apache-2.0

import types

from osc_lib import exceptions

from rt_client import servers
from rt_client import usage
from tests.unit.rt_client import base

ID = '00000001-0000-0000-0000-000000000000'


class OwnerTest(base.TestCase):
    """Tests who sees no places."""

    servers = (base.server(1),)

    def test_list(self):
        self.assertEqual([[ID, 's1', 'active', '1', '40000', '100000',
                           '0.400']], self.rows(servers.ListServers))
        self.assertEqual(['/nova-rt/servers?'], self.compute.asked)

    def test_usage(self):
        self.placement.answers['/usages'] = (200, {'usages': {
            'CUSTOM_RT_BANDWIDTH': 800_000, 'CUSTOM_RT_SHARE': 400_000}})
        self.assertEqual([['own', '0.800', '0.400']],
                         self.rows(usage.Usage))
        self.assertEqual(['/usages?project_id=own'], self.placement.asked)

    def test_no_usage(self):
        self.placement.answers['/usages'] = (200, {'usages': {}})
        self.assertEqual([['q', '0.000', '0.000']],
                         self.rows(usage.Usage, '--project', 'q'))

    def show(self, **diagnostics):
        self.compute.named['s1'] = types.SimpleNamespace(id=ID)
        self.compute.answers |= {
            f'/servers/{ID}': (200, {'server': {'id': ID,
                                                'tenant_id': 'own'}}),
            f'/servers/{ID}/diagnostics': (200 if diagnostics else 403,
                                           diagnostics)}
        names, row = self.run_command(servers.ShowServer, 's1')
        return dict(zip(names, map(str, row), strict=True))

    def test_show(self):
        self.assertEqual(
            {'ID': ID, 'Name': 's1', 'State': 'active', 'vCPUs': '1',
             'Runtime (us)': '40000', 'Period (us)': '100000',
             'Share (pCPU)': '0.400'}, self.show())
        self.assertIn(f'/nova-rt/servers?uuid={ID}&project_id=own',
                      self.compute.asked)

    def test_show_use(self):
        times = [{'time': 30 * 10 ** 9}, {'time': 10 ** 9}]
        self.assertEqual('0.310', self.show(
            uptime=100, cpu_details=times)['Used since the start (pCPUs)'])
        for bad in ({'uptime': 0, 'cpu_details': times},
                    {'uptime': 9, 'cpu_details': []},
                    {'uptime': 9, 'cpu_details': [{'time': None}]}):
            self.assertNotIn('Used since the start (pCPUs)',
                             self.show(**bad))

    def test_show_a_server_without_a_reservation(self):
        self.compute.answers['/nova-rt/servers'] = (
            200, {'servers': [], 'next': ''})
        with self.assertRaisesRegex(
                exceptions.CommandError, 'Server s1 holds no reservation; '
                '"openstack rt explain" says why.'):
            self.show()

    def test_a_server_that_does_not_exist(self):
        with self.assertRaisesRegex(exceptions.CommandError,
                                    'There is no server no.'):
            self.run_command(servers.ShowServer, 'no')

    def test_a_nova_api_without_nova_rt(self):
        del self.compute.answers['/nova-rt/servers']
        with self.assertRaisesRegex(exceptions.CommandError,
                                    'does not answer to nova-rt'):
            self.run_command(servers.ListServers)


class OperatorTest(base.TestCase):

    servers = (base.server(1, 'a', [2, 3]),
               base.server(2, 'a', [3], runtime=10_000))

    def test_list(self):
        self.assertEqual(
            [ID, 's1', 'active', '2', '40000', '100000', '0.400', 'p', 'a',
             '2-3'], self.rows(servers.ListServers, '--host', 'a')[0])
        self.assertEqual(['/nova-rt/servers?all_projects=1&host=a'],
                         self.compute.asked)

    def test_a_second_page(self):
        pages = iter(({'servers': [self.servers[0]], 'next': 'm'},
                      {'servers': [self.servers[1]], 'next': ''}))
        self.compute.answers['/nova-rt/servers'] = (
            200, lambda path: next(pages))
        self.assertEqual(2, len(self.rows(servers.ListServers,
                                          '--all-projects')))
        self.assertEqual('/nova-rt/servers?all_projects=1&marker=m',
                         self.compute.asked[-1])

    def test_usage_of_all_projects(self):
        self.assertEqual([['p', '2', '0.900', '0.500']],
                         self.rows(usage.Usage, '--all-projects'))
