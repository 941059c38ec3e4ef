# SPDX-License-Identifier: Apache-2.0

import contextlib
import dataclasses
import io
import json
from unittest import mock

import fixtures
from keystoneauth1 import exceptions as ks_exceptions
from oslo_db import exception as db_exception

from nova_rt.rules import hostmap
from nova_rt import version
from rt_operate.commands import manage
from rt_operate.manage.read import load
from rt_operate.manage import snapshot
from tests.unit import base as unit_base
from tests.unit.rt_operate.manage import base


def damaged(**change):
    one = base.holding()
    return base.replace(base.host(one), allocations={
        one.consumer: base.allocation(one) | {hostmap.SHARE_CLASS: 7}},
        **change)


class CommandCase(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.loader = mock.Mock(spec=load.Loader)
        self.loader.placement = mock.Mock()
        self.config(group=None, host='host1')
        for name, new in (('command.PAUSE_SECONDS', 0),
                          ('start.configure', mock.Mock()),
                          ('read.load.Loader', lambda *args: self.loader)):
            self.useFixture(fixtures.MonkeyPatch(
                f'rt_operate.manage.{name}', new))

    def looks(self, *views):
        """Makes comparisons return these in turn; the last one stays."""
        seen = [view if isinstance(view, load.CloudView) else
                load.CloudView([view]) for view in views]
        self.loader.view.side_effect = lambda: (
            seen.pop(0) if len(seen) > 1 else seen[0])

    def manage(self, *argv):
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            status = manage.main(argv)
        return status, out.getvalue()


class CommandTest(CommandCase):

    def test_nothing_differs(self):
        self.looks(base.host(base.holding(), base.holding(1, ())))
        self.assertEqual(
            (0, '1 host, 1 server with a reservation, 0 differences, kernel '
             'of host1 compared.\n'), self.manage('check'))

    def test_a_difference(self):
        self.looks(damaged())
        status, out = self.manage('check')
        self.assertEqual(1, status)
        self.assertEqual(2, len(out.splitlines()))
        self.assertIn('1 difference,', out)
        found = json.loads(self.manage('check', '-f', 'json')[1])
        self.assertEqual(
            [('allocation.amount', True)],
            [(x['kind'], x['healable']) for x in found['differences']])

    def test_versions_as_json(self):
        """The JSON has this command's version and that of each host's map."""
        host = base.host(base.holding())
        self.looks(base.replace(host, published=dataclasses.replace(
            host.published, release='0.0.9')))
        found = json.loads(self.manage('check', '-f', 'json')[1])
        self.assertEqual((version.get(), {host.name: '0.0.9'}),
                         (found['version'], found['releases']))

    def test_what_passes_is_no_difference(self):
        """Nova changed something between the two comparisons."""
        self.looks(damaged(), base.host(base.holding()))
        self.assertEqual(0, self.manage('check')[0])

    def test_what_is_new_in_the_second_look_is_no_difference_yet(self):
        self.looks(damaged(), damaged(published=None, inventories={}))
        status, out = self.manage('check')
        self.assertNotIn('publishes no map', out)

    def test_what_could_not_be_checked(self):
        self.looks(load.CloudView(
            [damaged()], unchecked=['cell 1: it is down'], notes=['x']))
        status, out = self.manage('check')
        self.assertEqual(2, status)
        self.assertIn('could not check cell 1: it is down\nnote: x\n', out)

    def test_flavors_to_look_at(self):
        """Suspect flavors are not differences: a name proves nothing."""
        seen = load.CloudView([base.host(base.holding())], [
            snapshot.Flavor('flavor_rt1', {}), snapshot.Flavor('small', {})])
        self.looks(seen)
        status, out = self.manage('check')
        self.assertEqual(0, status)
        self.assertIn('flavor flavor_rt1: its name suggests a reservation',
                      out)
        self.assertIn(' 1 flavor to look at.\n', out)
        found = json.loads(self.manage('check', '-f', 'json')[1])
        self.assertEqual(['flavor_rt1'],
                         [each['flavor'] for each in found['flavors']])

    def test_a_moving_server_is_counted(self):
        self.looks(base.host(base.holding(moving=True)))
        self.assertIn('1 server left out because Nova is working on it',
                      self.manage('check')[1])

    def test_no_tracebacks(self):
        for error, text in (
                (db_exception.DBConnectionError('gone [SQL: x]'),
                 'the database cannot be used: gone'),
                (ks_exceptions.ConnectFailure('gone'),
                 'Placement or Keystone cannot be reached: gone'),
                (ZeroDivisionError(), 'ZeroDivisionError')):
            self.loader.view.side_effect = error
            for argv in (('check',), ('heal',), ('heal', '--apply')):
                self.assertEqual((2, f'nova-rt-manage: {text}\n'),
                                 self.manage(*argv))

    def test_heal_shows_and_does(self):
        self.looks(damaged())
        status, out = self.manage('heal')
        self.assertEqual(1, status)
        self.assertIn('host1: would set the allocation of ', out)
        self.loader.placement.set_amounts.assert_not_called()

        def repair(consumer, provider, amounts, still):
            self.assertTrue(still())
            self.looks(base.host(base.holding()))
            return not still()

        self.loader.placement.set_amounts.side_effect = repair
        status, out = self.manage('heal', '--apply')
        self.assertEqual(0, status, out)
        self.assertIn('host1: did set the allocation of ', out)
        self.assertIn('1 healed, 0 left', out)
        self.assertEqual((0, 'Nothing to heal.\n'),
                         self.manage('heal', '--apply'))

    def test_heal_for_programs(self):
        self.looks(damaged())
        status, out = self.manage('heal', '-f', 'json')
        found = json.loads(out)
        self.assertEqual(1, status)
        self.assertEqual((False, [], []), (
            found['applied'], found['unchecked'], found['notes']))
        attempt, = found['attempts']
        self.assertFalse(attempt['changed'])
        self.assertIn('host1: would set the allocation of ',
                      attempt['text'])
        self.assertEqual([base.server_id(0)],
                         [each['server'] for each in found['left']])

    def test_heal_of_one_server(self):
        self.looks(damaged())
        self.assertEqual((0, 'Nothing to heal.\n'), self.manage(
            'heal', '--apply', '--instance', base.server_id(9)))
        self.assertEqual(1, self.manage(
            'heal', '--instance', base.server_id(0))[0])

    def test_heal_that_fails(self):
        self.looks(damaged())
        self.loader.placement.set_amounts.side_effect = (
            ks_exceptions.ConnectFailure('gone'))
        status, out = self.manage('heal', '--apply')
        self.assertEqual(1, status)
        self.assertIn('host1: failed to set the allocation', out)
        self.assertIn('0 healed, 1 left to try again', out)

    def test_heal_leaves_other_differences_to_check(self):
        host = base.host()
        self.looks(base.replace(host, kernel=snapshot.KernelBudgets(
            False, {}, {'/machine/x': 5})))
        self.assertEqual((0, 'Nothing to heal.\n'), self.manage('heal'))
