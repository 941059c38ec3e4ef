# SPDX-License-Identifier: Apache-2.0

"""demo.measure: reports time that a hypervisor took; measures again."""

import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

from demo import measure


class StolenTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.stat = pathlib.Path(directory.name) / 'stat'
        self.enterContext(mock.patch.object(measure, '_STAT', self.stat))
        self.enterContext(mock.patch.object(measure, '_shares', self.measured))
        self.steal = 0
        self.stolen(0)
        self.attempts = 0

    def stolen(self, ticks: int) -> None:
        self.steal += ticks
        self.stat.write_text(
            f'cpu  1 1 1 1 1 1 1 {self.steal} 0 0\n'
            'cpu0 1 1 1 1 1 1 1 0 0 0\n'
            f'cpu1 1 1 1 1 1 1 1 {self.steal} 0 0\nintr 5\n')

    def measured(self, _servers, _seconds):
        self.attempts += 1
        self.stolen(self.each.pop(0))
        return {'server': self.attempts}

    def shares(self, *each: int) -> tuple[dict[str, float], str]:
        """Measures, while the hypervisor takes as many ticks at each time."""
        self.each = list(each)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return measure.shares([], 1), printed.getvalue()

    def test_nothing_is_stolen(self):
        self.assertEqual(({'server': 1}, ''), self.shares(0))

    def test_measured_again_after_time_was_stolen_from_one_cpu(self):
        shares, printed = self.shares(100, 0)
        self.assertEqual({'server': 2}, shares)
        self.assertRegex(printed, 'the hypervisor took .* of a CPU meanwhile: '
                                  'measuring again')

    def test_unclear_after_the_last_attempt(self):
        shares, printed = self.shares(*(100,) * measure.ATTEMPTS)
        self.assertEqual({'server': measure.ATTEMPTS}, shares)
        self.assertIn('the shares are unclear', printed)
