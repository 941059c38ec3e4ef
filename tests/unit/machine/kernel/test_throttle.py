# SPDX-License-Identifier: Apache-2.0

"""Tests for how long one server can be throttled."""

import unittest

from nova_rt.machine.kernel import throttle


class StandingTest(unittest.TestCase):
    """Tests how long one server can be throttled, in us."""

    def test_a_long_runtime(self) -> None:
        """An overrun is paid with one more."""
        self.assertEqual(2 * 100_000 + 20_000,
                         throttle.standing_us(40_000, 100_000, 4_000))

    def test_a_runtime_shorter_than_an_overrun(self) -> None:
        self.assertEqual(11 * 20_000 + 20_000,
                         throttle.standing_us(1_000, 20_000, 1_000))

    def test_ticks_may_be_long(self) -> None:
        self.assertEqual(3 * 100_000 + 20_000,
                         throttle.standing_us(10_000, 100_000, 10_000))

    def test_nothing(self) -> None:
        self.assertEqual(0, throttle.standing_us(0, 100_000, 4_000))
        self.assertEqual(0, throttle.standing_us(-1, 100_000, 4_000))
