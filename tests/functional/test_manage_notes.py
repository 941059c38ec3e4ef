# SPDX-License-Identifier: Apache-2.0

"""A killed nova-api leaves a note in the quotas, which counts for a while.

In these tests, "killed" means: the thread of the request ends, and none of
the handlers that would remove its note run.
"""

from collections.abc import Iterator
import contextlib
import datetime
import io
import json
from typing import Any

import fixtures
from nova import context as nova_context
from nova.tests.functional.api import client
from oslo_utils import timeutils

from nova_rt.services.api import pending
from rt_operate.commands import manage
from rt_operate.manage.read import notes
from tests.functional import operations
from tests.functional import test_quotas


class LeftOverTest(test_quotas.QuotaCase):
    """A limit of 0.9, a server of 0.3, and a killed resize to 0.25."""

    def setUp(self) -> None:
        super().setUp()
        for name, new in (
                ('command.PAUSE_SECONDS', 0),
                ('start.configure', lambda *args: None)):
            self.useFixture(fixtures.MonkeyPatch(
                f'rt_operate.manage.{name}', new))
        self.server = self.boot(self.flavor(300))

    def manage(self, *argv: str) -> tuple[int, str]:
        """Returns the status and the output of a run."""
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            code = manage.main(argv)
        return code, out.getvalue()

    def check(self) -> list[dict[str, Any]]:
        """Returns the differences about quotas."""
        _code, out = self.manage('check', '-f', 'json')
        return [each for each in json.loads(out)['differences']
                if each['kind'] == 'quota.note']

    def kill_in_resize(self, server: operations.Server,
                       reset: bool = True) -> None:
        forget = fixtures.MonkeyPatch(
            'nova_rt.services.api.pending.forget', lambda *args: None)

        def die(*_args: Any, **_kwargs: Any) -> None:
            forget.setUp()
            raise RuntimeError('killed')

        conductor = fixtures.MonkeyPatch(
            'nova.conductor.api.ComputeTaskAPI.resize_instance', die)
        conductor.setUp()
        error = self.assertRaises(
            client.OpenStackApiException, self.api.post_server_action,
            server['id'], {'resize': {'flavorRef': self.flavor(250)}})
        self.assertEqual(500, error.response.status_code)
        forget.cleanUp()
        conductor.cleanUp()
        if reset:
            self.reset_state(server)

    def reset_state(self, server: operations.Server) -> None:
        self.admin.post_server_action(
            server['id'], {'os-resetState': {'state': 'active'}})

    @contextlib.contextmanager
    def later(self) -> Iterator[None]:
        """Lets half an hour pass, for nova-rt-manage only."""
        timeutils.set_time_override(
            datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
            + pending.AGE + datetime.timedelta(minutes=1))
        try:
            yield
        finally:
            timeutils.clear_time_override()

    def test_check_names_the_note_and_heal_removes_it(self) -> None:
        self.kill_in_resize(self.server)
        self.assertEqual([], self.check())
        self.refused_for(test_quotas.BANDWIDTH, self.post, self.flavor(400))
        with self.later():
            self.check_and_heal()
        self.boot(self.flavor(400))

    def check_and_heal(self) -> None:
        found, = self.check()
        self.assertEqual(('', self.server['id'], True), (
            found['host'], found['server'], found['healable']))
        self.assertIn('250000 of CUSTOM_RT_BANDWIDTH and 250000 of '
                      'CUSTOM_RT_SHARE count against the limits of project '
                      'tenant', found['found'])
        code, out = self.manage('heal')
        self.assertEqual(1, code, out)
        self.assertIn(f'quotas: would remove the note of server '
                      f'{self.server["id"]}', out)
        code, out = self.manage('heal', '--apply')
        self.assertEqual(0, code, out)
        self.assertIn('quotas: did remove the note', out)
        self.assertEqual([], self.check())

    def test_an_old_note_does_not_count(self) -> None:
        self.kill_in_resize(self.server)
        self.refused_for(test_quotas.BANDWIDTH, self.post, self.flavor(400))
        self.let_notes_be_old()
        self.boot(self.flavor(400))
        with self.later():
            self.assertEqual([], self.check())

    def let_notes_be_old(self) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.api.pending.AGE',
            datetime.timedelta(seconds=-1)))

    def test_an_old_note_counts_while_the_server_is_resized(self) -> None:
        self.kill_in_resize(self.server, reset=False)
        self.let_notes_be_old()
        self.refused_for(test_quotas.BANDWIDTH, self.post, self.flavor(400))
        self.reset_state(self.server)
        self.boot(self.flavor(400))

    def test_a_note_of_a_later_resize_stays(self) -> None:
        """A row that was read before is not the row of a new request."""
        self.kill_in_resize(self.server)
        with self.later():
            old, = notes.left_over(nova_context.get_admin_context())
        self.kill_in_resize(self.server)
        self.assertFalse(pending.remove(
            nova_context.get_admin_context(), old.number, old.since))
