# SPDX-License-Identifier: Apache-2.0

"""Tests what users of each role read below /nova-rt of the compute API.

The commands of ``openstack rt`` read by openstacksdk, from the same nova-api.
"""

import types
from typing import Any

from nova.limit import local as local_limit
from nova.tests.functional.api import client
from openstack import connection
from osc_lib import exceptions
from oslo_limit import fixture

from nova_rt.rules import hostmap
from rt_client import cloud
from rt_client import explain
from rt_client import fit
from rt_client import flavors
from rt_client import hosts
from rt_client import servers
from rt_client import usage
from tests.functional import base

#: Nova's own limits.
_NOVA = ('servers', 'class:VCPU', 'class:MEMORY_MB', 'class:DISK_GB',
         *local_limit.API_LIMITS, *local_limit.DB_LIMITS)
_MEMBER = ('reader', 'member')
_REFUSED = 403
_BAD = 400


class ReadingTest(base.PerCpuTestCase):
    """Two projects with a server each, on one host with four pCPUs."""

    def setUp(self) -> None:
        super().setUp()
        # As nova-api has it by default.
        self.flags(enforce_new_defaults=True, group='oslo_policy')
        self.start_host()
        self.admin = self.api
        self.flavor = self.rt_flavor(40_000, 100_000, vcpus=2)
        self.ours = self.user('ours')
        self.server = self.boot_by(self.ours)

    def user(self, project: str, roles: tuple[str, ...] = _MEMBER) -> Any:
        found = client.TestOpenStackClient(
            project, self.api_fixture.base_url, project_id=project,
            roles=list(roles))
        found.microversion = 'latest'
        return found

    def boot_by(self, user: Any, status: str = 'ACTIVE') -> dict[str, Any]:
        self.api = user
        try:
            return self.boot(self.flavor, status=status)
        finally:
            self.api = self.admin

    def read(self, user: Any, path: str) -> Any:
        return user.api_get('/nova-rt/' + path).body

    def assert_refused(self, user: Any, path: str, rule: str) -> None:
        error = self.assertRaises(client.OpenStackApiException, self.read,
                                  user, path)
        self.assertEqual(_REFUSED, error.response.status_code)
        self.assertIn(f"Policy doesn't allow {rule} to be performed",
                      str(error))

    def test_who_reads_what(self) -> None:
        self.boot_by(self.user('theirs'))
        self.boot(self.rt_flavor(None, None))
        self.check_hosts()
        self.check_an_owner()
        self.check_an_administrator()

    def check_hosts(self) -> None:
        answer = self.read(self.admin, 'hosts')
        self.assertEqual([], answer['unreachable_cells'])
        (host,) = answer['hosts']
        self.assertEqual('host1', host['host'])
        self.assertEqual(self.host_map('host1'),
                         hostmap.from_stats(host['stats']))
        self.assertEqual([], self.read(self.admin, 'hosts?host=no')['hosts'])
        self.assert_refused(self.ours, 'hosts', 'nova_rt:hosts:list')

    def check_an_owner(self) -> None:
        for user in (self.ours, self.user('ours', ('reader',))):
            self.assertEqual({
                'servers': [{
                    'id': self.server['id'], 'name': self.server['name'],
                    'project_id': 'ours', 'vcpus': 2, 'state': 'active',
                    'runtime_us': 40_000, 'period_us': 100_000}],
                'unreachable_cells': [], 'next': ''},
                self.read(user, 'servers'))
        everywhere = 'nova_rt:servers:list:all_projects'
        self.assert_refused(self.ours, 'servers?project_id=theirs',
                            everywhere)
        self.assert_refused(self.ours, 'servers?all_projects=1', everywhere)
        self.assert_refused(self.ours, 'servers?host=host1',
                            'nova_rt:servers:list:places')
        self.assert_refused(self.user('ours', ('none',)), 'servers',
                            'nova_rt:servers:list')
        error = self.assertRaises(
            client.OpenStackApiException, self.read, self.ours,
            'servers?marker=no')
        self.assertEqual(_BAD, error.response.status_code)

    def check_an_administrator(self) -> None:
        found = self.read(self.admin, 'servers?all_projects=1')['servers']
        self.assertEqual({'ours', 'theirs'},
                         {each['project_id'] for each in found})
        for each in found:
            self.assertEqual('host1', each['host'])
            (claim,) = each['claims']
            self.assertEqual(2, len(claim['pcpus']))
        one = self.read(self.admin, 'servers?project_id=ours&host=host1')
        self.assertEqual([self.server['id']],
                         [each['id'] for each in one['servers']])
        # The plain server is the only one of the administrator.
        self.assertEqual([], self.read(self.admin, 'servers')['servers'])

    def test_unified_limits_count_what_a_flavor_names(self) -> None:
        _, row = self.run_command(
            self.admin, flavors.CreateFlavor, 'counted', '--share', '0.2',
            '--ram', '64', '--disk', '1', '--unified-limits')
        self.use_unified_limits({
            'class:CUSTOM_RT_BANDWIDTH': 700_000,
            'class:CUSTOM_RT_SHARE': 700_000})
        limited = self.user('limited')
        body = self.request(str(row[0]))
        body['server'] |= {'min_count': 1, 'max_count': 9}
        limited.post_server(body)
        made = limited.get_servers()
        self.assertEqual(3, len(made))
        for server in made:
            self._wait_for_state_change(server, 'ACTIVE')
        error = self.assertRaises(
            client.OpenStackApiException, limited.post_server,
            self.request(str(row[0])))
        self.assertEqual(_REFUSED, error.response.status_code)
        self.assertIn('class:CUSTOM_RT_BANDWIDTH', str(error))
        self.assertEqual(3, len(limited.get_servers()))
        _, rows = self.run_command(self.admin, usage.Usage, '--project',
                                   'limited')
        self.assertEqual(['limited', '0.600', '0.600'],
                         list(map(str, rows[0])))

    def use_unified_limits(self, limits: dict[str, int]) -> None:
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.useFixture(fixture.LimitFixture(
            dict.fromkeys(_NOVA, 10_000) | limits, {}))

    # The commands.

    def run_command(self, user: Any, kind: Any, *words: str
                    ) -> tuple[tuple[str, ...], Any]:
        """Run a command of ``openstack rt`` as a user."""
        nova = self.connect(self.api_fixture.base_url, {
            'X-Auth-User': user.auth_user,
            'X-Auth-Project-Id': user.project_id,
            'X-Roles': ','.join(user.roles)})
        placement = self.connect(self.placement_fixture.endpoint, {
            'X-Auth-Token': self.placement_fixture.token,
            'X-Roles': 'admin,service'})
        app = types.SimpleNamespace(client_manager=types.SimpleNamespace(
            rt=cloud.Cloud(nova.compute, placement.placement)))
        command = kind(app, None)
        names, rows = command.take_action(
            command.get_parser('test').parse_args(words))
        return names, rows

    def connect(self, url: str, headers: dict[str, str]) -> Any:
        found = connection.Connection(
            auth_type='none', auth={'endpoint': url})
        found.session.additional_headers = headers
        return found

    def test_an_owner_runs_commands(self) -> None:
        name = self.server['name']
        for wanted in (name, self.server['id']):
            names, row = self.run_command(self.ours, servers.ShowServer,
                                          wanted)
            shown = dict(zip(names, map(str, row), strict=True))
            self.assertEqual('40000', shown['Runtime (us)'])
            self.assertNotIn('Host', shown)
        self.check_no_server_of_others(name)
        self.check_a_refused_server()
        self.check_an_operator(name)

    def check_no_server_of_others(self, name: str) -> None:
        for wanted in (name, self.server['id']):
            for kind in (servers.ShowServer, explain.Explain):
                error = self.assertRaises(
                    exceptions.CommandError, self.run_command,
                    self.user('theirs'), kind, wanted)
                self.assertEqual(f'There is no server {wanted}.', str(error))

    def check_a_refused_server(self) -> None:
        self.flavor = self.rt_flavor(90_000, 100_000, vcpus=3)
        refused = self.boot_by(self.ours, 'ERROR')
        _, rows = self.run_command(self.ours, explain.Explain, refused['id'])
        (row,) = rows
        text = ' '.join(map(str, row))
        self.assertIn('The server asks for 90000 us every 100000 us', text)
        self.assertNotIn('host1', text)

    def check_an_operator(self, name: str) -> None:
        names, row = self.run_command(self.admin, servers.ShowServer, name)
        shown = dict(zip(names, map(str, row), strict=True))
        self.assertEqual(('ours', 'host1'), (shown['Project'], shown['Host']))
        _, rows = self.run_command(self.admin, hosts.ListHosts)
        self.assertEqual(['host1', 4], list(rows[0][:2]))
        _, rows = self.run_command(self.admin, fit.Fit, '--share', '0.6')
        self.assertEqual([('host1', 2, 'the pCPUs have no more room')], rows)
        _, rows = self.run_command(self.admin, explain.Explain, name)
        self.assertEqual(['ACTIVE', 'yes'], [row[1] for row in rows])
        _, row = self.run_command(
            self.admin, flavors.CreateFlavor, 'new', '--share', '0.25')
        self.assertEqual(
            {'hw:cpu.rt_runtime_us': '25000',
             'hw:cpu.rt_period_us': '100000'},
            self.admin.api_get(f'/flavors/{row[0]}/os-extra_specs').body[
                'extra_specs'])
        error = self.assertRaises(
            exceptions.CommandError, self.run_command, self.ours,
            hosts.ListHosts)
        self.assertIn('You may not do this: ', str(error))
