# SPDX-License-Identifier: Apache-2.0

import io
import json
import logging
import pathlib
import re

import ddt
import fixtures
from nova import context as nova_context
from oslo_context import fixture as context_fixture
from oslo_log import formatters
from oslo_log import log as oslo_logging

from nova_rt.rules import report
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services import events
from tests.unit import base

_PAGE = (pathlib.Path(__file__).parents[3]
         / 'doc/source/admin/events.rst').read_text()
_UUID = '11111111-2222-3333-4444-555555555555'
CLAIM = claims.RTClaim(_UUID, 0, reservation.Reservation(20_000, 100_000),
                       (5, 2, 3))
LARGER = claims.RTClaim(_UUID, 7, reservation.Reservation(30_000, 100_000),
                        (8,))
#: An example of each event.
TOLD = {
    'rt.admitted': lambda: events.admitted(CLAIM),
    'rt.refused': lambda: events.refused(
        events.COMPUTE, report.NO_ROOM, 'host a is "full"', _UUID),
    'rt.applied': lambda: events.applied(CLAIM, 12),
    'rt.missed': lambda: events.missed(_UUID, events.ENDED, 'it is gone'),
    'rt.corrected': lambda: events.corrected(_UUID, CLAIM),
    'rt.changed': lambda: events.changed(CLAIM, LARGER),
    'rt.moved': lambda: events.moved(LARGER, events.LIVE),
    'rt.released': lambda: events.released(LARGER),
}


def _section(title: str) -> str:
    """Returns the part of the page below a heading."""
    return _PAGE.partition(f'\n{title}\n')[2].partition('\n===')[0]


@ddt.ddt
class EventsTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(context_fixture.ClearRequestContext())
        self.log = self.useFixture(fixtures.FakeLogger(
            level=logging.INFO, name='nova_rt.services.events'))
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.events.recent', events.recent.copy()))

    def told(self, name: str) -> str:
        TOLD[name]()
        return self.log.output.splitlines()[-1]

    def test_there_is_an_example_of_each(self):
        self.assertEqual([event.name for event in events.EVENTS], [*TOLD])

    @ddt.data(*events.EVENTS)
    def test_an_event_has_its_fields(self, event):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatters.JSONFormatter())
        logger = oslo_logging.getLogger('nova_rt.services.events').logger
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        line = self.told(event.name)
        found = json.loads(stream.getvalue())['extra']['rt_event']
        self.assertEqual(
            ['event', *events.REQUEST, *event.fields], list(found))
        self.assertEqual(event.name, found['event'])
        self.assertEqual(
            [event.name, *events.REQUEST, *event.fields],
            re.sub(r'"([^"\\]|\\.)*"', '""', line).replace('=', ' ').split()[
                :1] + re.findall(r'(?:^| )(\w+)=', re.sub(
                    r'"([^"\\]|\\.)*"', '""', line)))

    def test_a_line_as_the_page_shows_it(self):
        nova_context.RequestContext('u', 'p', request_id='req-1',
                                    global_request_id='req-2')
        self.assertEqual(
            f'rt.admitted request_id=req-1 global_request_id=req-2 '
            f'server={_UUID} runtime_us=20000 period_us=100000 pcpus=2-3,5 '
            f'move=0', self.told('rt.admitted'))
        self.assertIn(r'detail="host a is \"full\""', self.told('rt.refused'))

    def test_a_budget_that_was_given_back_has_no_numbers(self):
        events.corrected(_UUID, None)
        self.assertTrue(self.log.output.endswith(
            f'server={_UUID} runtime_us="" period_us="" pcpus=""\n'))

    def test_a_line_stays_one_line(self):
        """Names of guests may have any characters."""
        events.missed('x', events.RUNS, 'a\nrt.admitted server=y')
        self.assertEqual(1, len(self.log.output.splitlines()))

    def test_the_last_lines_are_kept(self):
        for _ in range(30):
            self.told('rt.moved')
        self.assertEqual(20, len(events.recent))
        self.assertEqual(self.told('rt.missed'), events.recent[-1])

    @ddt.data(*events.EVENTS)
    def test_the_page_has_the_event_with_its_fields(self, event):
        rows = re.findall(
            r'^   \* - ``(rt\.\w+)``\n     - (.*?)\n     - (.*?)\n     - ',
            _section('Events'), re.MULTILINE | re.DOTALL)
        self.assertEqual([each.name for each in events.EVENTS],
                         [row[0] for row in rows])
        services, fields = {name: (services, fields) for name, services, fields
                            in rows}[event.name]
        self.assertEqual(event.services, ' '.join(services.split()))
        self.assertEqual([*event.fields], re.findall(r'``(\w+)``', fields))

    def test_the_page_has_all_values(self):
        words = set(re.findall(r'``(\w+)``', _section('Values')))
        self.assertEqual(
            {*report.REASONS, *events.MORE_REASONS, *events.BY, *events.THEN,
             *events.HOW}, words - {'by', 'reason', 'then', 'how'})
