# SPDX-License-Identifier: Apache-2.0

"""Tests that what was measured while a CPU was idle is forgotten."""

import contextlib
import io
import unittest
from unittest import mock

from tests.full.kernel import idle


class NeverTest(unittest.TestCase):
    """*idle* is how long the CPUs are idle in each measurement."""

    def measure(self, *times: float) -> int:
        now = 0.0
        looks = []
        for each in times:
            looks += [now, now + each]
            now += each + 1
        numbers = iter(range(len(times)))
        with (mock.patch.object(idle, 'seconds', side_effect=looks),
              contextlib.redirect_stderr(io.StringIO()) as told):
            found = idle.never(lambda: next(numbers))
        self.assertEqual(found, told.getvalue().count('does not count'))
        return found

    def test_busy_all_the_time(self) -> None:
        self.assertEqual(0, self.measure(0.0))

    def test_a_clock_that_was_set_forward(self) -> None:
        self.assertEqual(2, self.measure(9.2, 0.5, 0.01))

    def test_time_and_again(self) -> None:
        with self.assertRaises(TimeoutError):
            self.measure(*[1.0] * 5)

    def test_this_machine(self) -> None:
        self.assertGreater(idle.seconds(), 0)
