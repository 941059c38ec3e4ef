# SPDX-License-Identifier: Apache-2.0

"""lab.tsc: the frequency of the time stamp counter."""

import unittest
from unittest import mock

from lab import tsc


class FrequencyTest(unittest.TestCase):

    def test_other_machines_have_no_counter(self):
        with mock.patch('platform.machine', return_value='aarch64'):
            self.assertIsNone(tsc.khz())

    @unittest.skipIf(tsc.khz() is None, 'not an x86-64')
    def test_two_measurements_agree(self):
        self.assertAlmostEqual(1, tsc.khz() / tsc.khz(), delta=0.001)

    def test_a_slow_reading_is_left_out(self):
        """The process may have to wait between the two clocks."""
        times = iter([0, 90, 100, 102, 1100, 1190, 1100, 1102])
        counts = iter([7, 200, 9, 2200])
        with (mock.patch.object(tsc, '_READINGS', 2),
              mock.patch('time.monotonic_ns', lambda: next(times)),
              mock.patch('time.sleep')):
            self.assertEqual(2_000_000, tsc._measure(lambda: next(counts)))
