# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise --apply``: which servers decisions change."""

import argparse
import contextlib
import dataclasses
import io
import json
import pathlib
import tempfile
from unittest import mock

from oslotest import base

from nova_rt.rules import exception
from rt_operate.commands import keep
from rt_operate import loop

LIMITS = {'hw:cpu.rt_auto_min_share': '0.1', 'hw:cpu.rt_auto_max_share': '0.5'}
TARGET = {'hw:cpu.rt_auto_target_ms': '20'}


@dataclasses.dataclass
class Measured:
    """The part of advice.MeasuredLoad that is read here."""

    reservation: int


class KeepTest(base.BaseTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.specs = dict.fromkeys(('first', 'second'), LIMITS | TARGET)
        self.changed: list[tuple[str, int]] = []
        self.refusal = ''
        self.doubt = ''

    def server(self, uuid: str) -> mock.Mock:
        def change(runtime_us: int) -> None:
            if self.refusal:
                raise exception.CannotChangeReservation(
                    uuid=uuid, reason=self.refusal)
            self.changed.append((uuid, runtime_us))
        return mock.Mock(change=change, extra_specs=self.specs[uuid],
                         reserved=lambda granted: 10 * granted)

    def step(self, measured: Measured) -> loop.Decision:
        if self.doubt:
            return loop.Decision(None, self.doubt, 'doubt')
        return loop.Decision(measured.reservation, 'for a test')

    def keep(self, *loads: str, target: object = None, **options: object
             ) -> str:
        """Returns what is printed; each word of *loads* names servers."""
        args = argparse.Namespace(**{
            'times': None, 'format': 'text', 'config_file': (),
            'audit_log': None, 'dry_run': False, 'most_changes': 6,
            **options})
        with (mock.patch.object(keep.importlib, 'import_module',
                                return_value=mock.Mock(Server=self.server)),
              mock.patch.object(loop, 'Loop', lambda *_: mock.Mock(
                  step=self.step)),
              contextlib.redirect_stdout(io.StringIO()) as said):
            keep.run(args, target, mock.Mock(), [
                {name: Measured(number) for name in names.split()}
                for number, names in enumerate(loads, 1)])
        return said.getvalue()

    def test_another_server_of_the_same_name(self) -> None:
        """The first server must not get what the second one needs.

        The loop decides about what a server reserves, not about what the
        kernel grants.
        """
        self.keep('first', 'second', target=mock.Mock())
        self.assertEqual([('first', 10), ('second', 20)], self.changed)

    def test_all_servers_with_a_target(self) -> None:
        self.specs['second'] = LIMITS
        self.keep('first second', 'second first')
        self.assertEqual([('first', 10), ('first', 20)], self.changed)

    def test_a_flavor_is_read_again(self) -> None:
        self.specs['second'] = {}
        with mock.patch.object(keep, '_AGAIN', 2):
            self.keep('second')
            self.specs['second'] = LIMITS | TARGET
            self.keep(*['second'] * 3)
        self.assertEqual([1, 2, 3], [
            number // 10 for _, number in self.changed])

    def test_a_bad_flavor_stops_no_other_server(self) -> None:
        self.specs['first'] = TARGET
        said = self.keep('first second', 'first second')
        self.assertEqual({'second'}, {name for name, _ in self.changed})
        self.assertEqual(1, said.count('set hw:cpu.rt_auto_min_share'))

    def test_the_only_server_with_a_bad_flavor(self) -> None:
        self.specs['first'] = {}
        self.assertRaises(exception.InvalidReservation, self.keep, 'first',
                          target=mock.Mock())

    def test_a_dry_run_changes_nothing(self) -> None:
        said = self.keep('first', dry_run=True)
        self.assertEqual([], self.changed)
        self.assertIn('first: for a test. The change is not made', said)

    def test_a_rate_limit(self) -> None:
        said = self.keep(*['first second'] * 3, most_changes=2)
        self.assertEqual(4, len(self.changed))
        self.assertEqual(2, said.count('2 changes in the last minute'))

    def test_a_refusal_is_told_and_tried_again(self) -> None:
        self.refusal = 'it does not fit'
        self.assertEqual(2, self.keep('first', 'first').count(self.refusal))

    def test_a_doubt_is_told_once(self) -> None:
        self.doubt = 'exchanges are unclear'
        self.assertEqual(1, self.keep(*['first'] * 3).count(self.doubt))
        self.assertEqual([], self.changed)

    def test_an_audit_log_that_cannot_be_written(self) -> None:
        """Nothing is changed without a record."""
        for path in ('/nowhere/audit', '/dev/full'):
            with self.subTest(path):
                self.assertRaisesRegex(
                    exception.CannotMeasure, path, self.keep,
                    'first', audit_log=path)
        self.assertLess(len(self.changed), 2)

    def test_the_audit_log(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / 'audit'
            self.keep('first second', audit_log=str(log))
            records = [json.loads(line)
                       for line in log.read_text().splitlines()]
        self.assertEqual({'first', 'second'}, {
            record['server'] for record in records})
        self.assertEqual([10, 10], [
            record['runtime_us'] for record in records])
