# SPDX-License-Identifier: Apache-2.0

import argparse
import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

from paper.fig8 import records
from paper.sip import fig8


class RunTest(unittest.TestCase):
    """Registrations of 1 ms, and of 3 ms beside a neighbour."""

    def setUp(self):
        super().setUp()
        self.events = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, 'fig8-sip.csv')
        for patch in (
                mock.patch.object(fig8.places.Groups, 'check',
                                  lambda *_: 950_000),
                mock.patch.multiple(
                    fig8.registrar, running=self.processes([1, 2]),
                    busy_us=lambda _: 0.0),
                mock.patch.object(fig8.rtapp, 'running', self.processes(3)),
                mock.patch.multiple(fig8.group, reserved=self.group,
                                    heavy=self.group),
                mock.patch.object(fig8, 'calibrate', lambda *_: 145),
                mock.patch.object(fig8.sip_client, 'register',
                                  self.register)):
            patch.start()
            self.addCleanup(patch.stop)

    def processes(self, found):
        return lambda *_: contextlib.nullcontext(found)

    @contextlib.contextmanager
    def group(self, reservation=None, *others):
        name = reservation and f'{reservation.runtime_us}'
        yield lambda process: self.events.append((name, process))
        self.events.append((name, 'gone'))

    def register(self, count, rate, client):
        loud = self.events[-1][1] == 3
        return np.full(count, 3000.0 if loud else 1000.0)

    def run_it(self, *words):
        parser = argparse.ArgumentParser()
        fig8.register(parser)
        with contextlib.redirect_stdout(io.StringIO()) as self.said:
            return fig8.run(parser.parse_args(
                ['--data', str(self.path), '--kernel', 'Linux 1.2', *words]))

    def test_the_neighbour_is_reserved_if_the_server_is(self):
        self.run_it('--runs', '1')
        self.assertEqual(
            [(None, 1), (None, 2), (None, 3), (None, 'gone'),
             ('14000', 1), ('14000', 2), ('240000', 3), ('240000', 'gone'),
             ('14000', 'gone')], self.events)

    def test_each_case_takes_turns(self):
        text = self.run_it('--runs', '2', '--scheduler', 'reservation')
        self.assertEqual(['no', 'periodic', 'periodic', 'no'], [
            run.noise for run in records.read(self.path)])
        self.assertIn('145 registrations', self.said.getvalue())
        self.assertEqual({689.66}, {
            round(run.interval_us, 2) for run in records.read(self.path)})
        self.assertRegex(text, 'Linux 1.2 +groups +14000/20000 +240000/1000000'
                         r' +0.95 +2 +3.000 \(3.000 to 3.000\) +- +no')

    def test_the_first_tenth_does_not_count(self):
        self.run_it('--short')
        self.assertEqual({270}, {
            run.requests for run in records.read(self.path)})

    def test_the_table_of_stored_data(self):
        self.run_it('--runs', '1')
        before = len(self.events)
        self.assertIn('14000/20000', self.run_it('--runs', '0'))
        self.assertEqual(before, len(self.events))
