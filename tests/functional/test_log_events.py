# SPDX-License-Identifier: Apache-2.0

"""Tests that nova-rt logs the life of a server, with the ids of requests."""

import collections
import os
import pathlib
import re
import signal

import fixtures
from nova import context as nova_context
from nova import version as nova_version
from oslo_context import context as oslo_context
from oslo_reports import guru_meditation_report

from nova_rt.rules import hostmap
from nova_rt.services import events
from nova_rt.services import meditation
from tests.functional import operations
from tests.functional import test_quotas


class LogEventsTest(operations.TestCase):
    """Two hosts; a server is built, moved, resized, refused and deleted."""

    def setUp(self) -> None:
        super().setUp()
        self.lines: collections.deque[str] = collections.deque()
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.events.recent', self.lines))
        # In a cloud, Placement has a process and contexts of its own.
        store = oslo_context.RequestContext.update_store
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_context.context.RequestContext.update_store',
            lambda context: store(context) if isinstance(
                context, nova_context.RequestContext) else None))

    def told(self) -> list[tuple[str, dict[str, str]]]:
        """Returns the events since the last call, with their fields."""
        lines = [*self.lines]
        self.lines.clear()
        return [(line.partition(' ')[0], dict(re.findall(
            r' (\w+)=("(?:[^"\\]|\\.)*"|\S+)', line))) for line in lines]

    def requests(self, server: operations.Server) -> dict[str, str]:
        """Returns the id of the newest request of each action of a server."""
        return {each['action']: each['request_id'] for each in reversed(
            self.api.get_instance_actions(server['id']))}

    def test_the_life_of_a_server(self) -> None:
        server = self.boot(self.flavor(300))
        told = self.told()
        self.assertEqual(['rt.admitted', 'rt.applied'],
                         [name for name, _ in told])
        for _name, fields in told:
            self.assertEqual(
                (server['id'], '30000', '100000', '0'),
                (fields['server'], fields['runtime_us'],
                 fields['period_us'], fields['move']))
            self.assertEqual(self.requests(server)['create'],
                             fields['request_id'])

        self.act(server, 'migrate', status='VERIFY_RESIZE')
        told = self.told()
        self.assertEqual(['rt.admitted', 'rt.applied', 'rt.moved'],
                         [name for name, _ in told])
        move = told[0][1]['move']
        self.assertNotEqual('0', move)
        self.assertEqual({(move, self.requests(server)['migrate'])}, {
            (fields['move'], fields['request_id']) for _, fields in told})
        self.assertEqual('cold', told[2][1]['how'])
        self.act(server, 'confirmResize', status='ACTIVE')
        (name, fields), = self.told()
        self.assertEqual(('rt.released', '0'), (name, fields['move']))

        self._delete_server(server)
        (name, fields), = self.told()
        self.assertEqual(('rt.released', move), (name, fields['move']))

    def test_the_report_of_a_process_that_gets_sigusr2(self) -> None:
        # If a process has two computes, the report has the last one.
        body = self.request(self.flavor(300))
        body['server']['host'] = [*self.computes][-1]
        server = self._wait_for_state_change(
            self.api.post_server(body), 'ACTIVE')
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        before = signal.getsignal(signal.SIGUSR2)
        self.addCleanup(signal.signal, signal.SIGUSR2, before)
        guru_meditation_report.TextGuruMeditation.setup_autorun(
            nova_version, 'nova', str(directory))
        os.kill(os.getpid(), signal.SIGUSR2)
        report, = directory.iterdir()
        found = report.read_text().partition(meditation.TITLE)[2]
        for words in (
                'nova-compute = ', 'nova-scheduler = ',
                f'{server["id"]}, move 0 = 30000 us every 100000 us (share '
                f'0.300) on pCPU', ' = 0.300 of 0.950',
                'differences of the last audit = 0',
                f'rt.applied request_id={self.requests(server)["create"]} '):
            self.assertIn(words, found)

    def test_placement_refuses(self) -> None:
        for _ in self.HOSTS:
            self.boot(self.flavor(900))
        self.told()
        body = self.request(self.flavor(940))
        server = self._wait_for_state_change(
            self.api.post_server(body), 'ERROR')
        (name, fields), = self.told()
        self.assertEqual(
            ('rt.refused', server['id'], 'placement', 'no_room'),
            (name, fields['server'], fields['by'], fields['reason']))
        self.assertIn(f'the largest free {hostmap.SHARE_CLASS}',
                      fields['detail'])
        self.assertEqual(self.requests(server)['create'],
                         fields['request_id'])


class QuotaTest(test_quotas.QuotaCase):
    """nova-api refuses before a server exists."""

    def test_a_limit(self) -> None:
        events.recent.clear()
        self.refused_for(test_quotas.BANDWIDTH, self.post,
                         self.flavor(310, vcpus=3))
        line, = events.recent
        self.assertIn(' server="" by=api reason=quota detail="Quota exceeded',
                      line)
        self.assertRegex(line, ' request_id=req-[0-9a-f-]+ ')
