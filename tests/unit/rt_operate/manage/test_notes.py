# SPDX-License-Identifier: Apache-2.0

import datetime
import json
from unittest import mock

from nova_rt.services.api import pending
from rt_operate.manage.compare import notes
from rt_operate.manage.read import load
from tests.unit.rt_operate.manage import base
from tests.unit.rt_operate.manage import test_command

SINCE = datetime.datetime(2026, 11, 26, 2, 10, 0, 5)
NOTE = pending.Begun(7, 'blue', base.server_id(3), {
    'CUSTOM_RT_BANDWIDTH': 500_000, 'CUSTOM_RT_SHARE': 250_000}, SINCE)


class NotesTest(test_command.CommandCase):

    def setUp(self):
        super().setUp()
        self.looks(load.CloudView([base.host(base.holding())], begun=[NOTE]))

    def test_a_note_is_a_difference_of_no_host(self):
        status, out = self.manage('check')
        self.assertEqual(1, status)
        self.assertIn(
            f'quotas: server {base.server_id(3)}: 500000 of '
            f'CUSTOM_RT_BANDWIDTH and 250000 of CUSTOM_RT_SHARE count against '
            f'the limits of project blue, for a resize or unshelve that '
            f'nova-api began at 2026-11-26 02:10:00 UTC and never passed on; '
            f'should be: no such note; to do: run nova-rt-manage heal '
            f'--apply\n', out)
        found, = json.loads(self.manage('check', '-f', 'json')[1])[
            'differences']
        self.assertEqual(('quota.note', '', True), (
            found['kind'], found['host'], found['healable']))

    def test_heal_removes_exactly_this_note(self):
        with mock.patch.object(pending, 'remove') as remove:
            status, out = self.manage('heal')
            self.assertEqual((1, False), (status, remove.called))
            remove.side_effect = lambda *args: self.looks(
                base.host(base.holding())) or True
            status, out = self.manage('heal', '--apply')
        self.assertEqual(0, status, out)
        self.assertEqual((7, SINCE), remove.call_args.args[1:])
        self.assertIn('1 healed, 0 left to try again', out)

    def test_a_note_that_nova_api_finished_meanwhile_stays(self):
        with mock.patch.object(pending, 'remove', return_value=False):
            _status, out = self.manage('heal', '--apply')
        self.assertIn('quotas: no longer needed to remove the note', out)
        self.assertEqual('quotas', notes.difference(NOTE).place)
