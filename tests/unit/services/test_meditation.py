# SPDX-License-Identifier: Apache-2.0

import signal
import subprocess
import sys
from unittest import mock

from nova import version as nova_version
from oslo_reports import guru_meditation_report

from nova_rt.services import events
from nova_rt.services import meditation
from tests.unit import base
from tests.unit.services import test_events

#: A service that registers as Nova's do, and waits.
_SERVICE = '''
import sys
from nova import version
from oslo_config import cfg
from oslo_reports import guru_meditation_report as gmr
from nova_rt.services import events, meditation

cfg.CONF([])
gmr.TextGuruMeditation.setup_autorun(version)
meditation.register('nova-compute', lambda: {
    'claims': {'server1, move 0': '10 us'}, 'findings': 3})
events.missed('server1', events.ENDED, 'it is gone')
print('ready', flush=True)
sys.stdin.read()
'''


class MeditationTest(base.TestCase):

    def setUp(self):
        super().setUp()
        report = guru_meditation_report.TextGuruMeditation
        self.enterContext(mock.patch.object(
            report, 'persistent_sections', [], create=True))
        self.enterContext(mock.patch.dict(meditation._parts, clear=True))

    def report(self):
        return guru_meditation_report.TextGuruMeditation(nova_version).run()

    def section(self):
        return self.report().partition(meditation.TITLE)[2]

    def test_the_last_state_of_a_service_is_shown_once(self):
        meditation.register('nova-compute', lambda: {'claims': 'former'})
        meditation.register('nova-compute', lambda: {'claims': 'latter'})
        meditation.register('nova-scheduler')
        found = self.section()
        self.assertEqual(1, self.report().count(f' {meditation.TITLE} '))
        self.assertEqual(
            (0, 1), (found.count('former'), found.count('latter')))
        self.assertIn('nova-scheduler', found)

    def test_an_error_costs_only_its_part(self):
        meditation.register('nova-compute', lambda: {}['claims'])
        self.assertIn("nova-compute = KeyError: 'claims'", self.section())

    def test_the_last_events(self):
        meditation.register('nova-compute')
        events.released(test_events.CLAIM)
        self.assertIn('rt.released request_id=', self.section())

    def test_a_real_signal(self):
        process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', _SERVICE], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        with process:
            self.assertEqual('ready\n', process.stdout.readline())
            process.send_signal(signal.SIGUSR2)
            # The handler runs before the end of the input is read.
            _out, report = process.communicate()
        self.assertEqual(0, process.returncode)
        found = report.partition(meditation.TITLE)[2]
        for line in ('version = ', 'claims = ', 'server1, move 0 = 10 us',
                     'findings = 3', 'rt.missed request_id=""'):
            self.assertIn(line, found)
