# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import sys
from unittest import mock

import fixtures
from keystoneauth1 import exceptions as ks_exceptions
from oslo_upgradecheck import upgradecheck

from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_operate.manage.compare import flavors as compare_flavors
from rt_operate.manage.read import load
from rt_operate.manage import report
from rt_operate.manage import snapshot
from rt_operate.manage import upgrade
from tests.unit import base as unit_base
from tests.unit.rt_operate.manage import base

SUCCESS, WARNING, FAILURE = upgradecheck.Code
_PASTE = os.path.join(sys.prefix, 'etc', 'nova', 'api-paste.ini')
_APP = 'osapi_compute_app_v21'


class ChecksTest(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.checks = upgrade.Checks()

    def patch(self, name, new):
        self.useFixture(fixtures.MonkeyPatch(
            f'rt_operate.manage.upgrade.{name}', new))

    def check(self, name):
        found = dict(self.checks._upgrade_checks)[name](self.checks)
        return found.code, found.details

    def assert_check(self, name, code, text):
        found, details = self.check(name)
        self.assertEqual(code, found)
        self.assertIn(text, details)

    def test_nova(self):
        self.assert_check('Nova version', SUCCESS, 'Nova 3')
        self.patch('selfcheck.verify', mock.Mock(
            side_effect=exception.UnsupportedNova(
                name='x', tested='()', found='has none')))
        self.assert_check('Nova version', FAILURE, 'has none')

    def test_driver(self):
        name = 'Compute driver of this host'
        self.assert_check(name, SUCCESS, 'if this host runs nova-compute')
        self.config(group=None, compute_driver='libvirt.LibvirtDriver')
        self.assert_check(name, WARNING, 'libvirt.LibvirtDriver')
        self.config(group=None, compute_driver='nova_rt.RTLibvirtDriver')
        self.assert_check(name, SUCCESS, 'is found')
        self.patch('importutils.import_class',
                   mock.Mock(side_effect=ImportError('no libvirt')))
        self.assert_check(name, FAILURE, 'no libvirt')
        self.patch('importlib.metadata.entry_points', lambda group: [])
        self.assert_check(name, FAILURE, 'entry point')

    def paste(self, both=True):
        """Nova's own file with the filter in one pipeline, or in both."""
        lines = []
        for line in pathlib.Path(_PASTE).read_text().splitlines():
            if line.startswith('keystone = ') and (
                    both or 'legacy' not in line):
                line = line.replace(_APP, f'nova_rt {_APP}')
            lines.append(line)
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x.ini')
        path.write_text('\n'.join([
            *lines, '[filter:nova_rt]',
            'use = egg:nova-rt#reservation_hints']))
        self.config(group='wsgi', api_paste_config=str(path))
        return path

    def test_middleware(self):
        name = 'Middleware of this host'
        self.config(group='wsgi', api_paste_config='/nowhere/x.ini')
        self.assert_check(name, SUCCESS, 'only nova-api needs')
        self.paste()
        self.assert_check(name, SUCCESS, 'openstack_compute_api_v21, '
                          'composite:openstack_compute_api_v21_legacy')
        path = self.paste(both=False)
        self.assert_check(
            name, WARNING, 'reservation_hints: '
            'composite:openstack_compute_api_v21_legacy_v2_compatible.')
        path.write_text('nonsense')
        self.assert_check(name, FAILURE, 'x.ini cannot be read')

    def test_filter(self):
        name = 'Scheduler filter of this host'
        self.assert_check(name, WARNING, 'lacks RTShareFilter')
        self.config(group='filter_scheduler',
                    enabled_filters=['RTShareFilter'])
        self.assert_check(name, FAILURE, 'does not start')
        self.config(group='filter_scheduler', available_filters=[
            'nova.scheduler.filters.all_filters',
            'nova_rt.scheduler.filters.RTShareFilter'])
        self.assert_check(name, SUCCESS, 'enabled')

    def test_matrices(self):
        name = 'Interference matrices of this host'
        self.config(interference_matrix='/nowhere')
        self.assert_check(name, SUCCESS, 'is not used')
        self.config(group='filter_scheduler', weight_classes=[
            'nova_rt.scheduler.weights.RTInterferenceWeigher'])
        self.assert_check(name, FAILURE, 'has no effect: /nowhere: the '
                          'file: it cannot be read')
        self.config(interference_matrix=None)
        self.assert_check(name, SUCCESS, 'can read its matrices')

    def test_classes(self):
        name, client = 'Resource classes', mock.Mock()
        self.patch('placement.Placement', lambda context: client)
        self.assert_check(name, SUCCESS, '')
        client.has_class = 'CUSTOM_RT_BANDWIDTH'.__eq__
        self.assert_check(name, WARNING, 'CUSTOM_RT_SHARE')
        client.has_class = mock.Mock(
            side_effect=ks_exceptions.ConnectFailure('gone'))
        self.assert_check(name, FAILURE, 'cannot be reached: gone')

    def test_no_database(self):
        """Hosts that only run nova-compute have no database."""
        self.config(group='api_database', connection=None)
        self.patch('command.examine', mock.Mock(
            side_effect=AssertionError('asked')))
        for name in ('Servers without their claim', 'Readable claims',
                     'Servers admitted by older rules'):
            self.assert_check(name, WARNING, 'no database is configured')

    def see(self, *holdings, unchecked=(), flavors=()):
        self.config(group='api_database', connection='sqlite://')
        view = load.CloudView([base.host(*holdings)], list(flavors),
                              unchecked=list(unchecked))
        self.checks = upgrade.Checks()
        self.patch('command.examine', lambda scope: report.Report(
            view, [each for host in view.hosts
                   for each in upgrade_compare(host)],
            list(compare_flavors.suspects(
                view.flavors, reservation.Limits()))))

    def test_flavors(self):
        name = 'Flavors without their reservation'
        self.see(flavors=[snapshot.Flavor('small', {})])
        self.assert_check(name, SUCCESS, 'No flavor was found whose')
        self.see(flavors=[snapshot.Flavor(f'rt-{number}', {})
                          for number in range(7)])
        self.assert_check(name, WARNING, 'rt-4 (its name suggests a '
                          'reservation, but it reserves nothing) and 2 more; '
                          'nova-rt-manage check says')
        self.see(unchecked=['the flavors: gone'])
        self.assert_check(name, FAILURE, 'the flavors: gone')
        self.config(group='api_database', connection=None)
        self.assert_check(name, WARNING, 'no database is configured')

    def test_servers(self):
        lost, bad = 'Servers without their claim', 'Readable claims'
        self.see(base.holding())
        self.assert_check(lost, SUCCESS, 'Every server')
        self.assert_check(bad, SUCCESS, 'All claims')
        wanted = reservation.Reservation(10, 100)
        self.see(*(base.holding(number, (), wanted=wanted)
                   for number in range(7)))
        self.assert_check(lost, WARNING, 'and 2 more; resize or migrate')
        self.see(base.holding(0, (), unreadable=('x',), wanted=wanted))
        self.assert_check(lost, SUCCESS, 'Every server')
        self.assert_check(bad, FAILURE, base.server_id(0))
        self.see(unchecked=['cell 1: gone'])
        for name in lost, bad:
            self.assert_check(name, FAILURE, 'cell 1: gone')

    def test_older_rules(self):
        name = 'Servers admitted by older rules'
        self.config(group='api_database', connection='sqlite://')
        for found, code, text in (
                ([], SUCCESS, 'would also be admitted today'),
                ([('s1', 'too much')], WARNING,
                 'refused today: s1; reason for the first: too much.  '
                 'These servers run and'),
                ([(f's{n}', 'no') for n in range(7)], WARNING,
                 's4 and 2 more; reason for the first: no.')):
            self.patch('older.servers', lambda found=found: iter(found))
            self.assert_check(name, code, text)


def upgrade_compare(host):
    return upgrade.command.differences.compare(host)
