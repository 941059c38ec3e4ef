# SPDX-License-Identifier: Apache-2.0

"""Tests the order of changes, by a clock and threads of our own."""

import errno
import unittest
from unittest import mock

from nova_rt.machine.host import thread
from nova_rt.machine.kernel import resting


class FirstRestingTest(unittest.TestCase):
    """A thread rests from its moment in *rests* on."""

    def setUp(self) -> None:
        self.now = 0.0
        self.rests: dict[int, float] = {}
        for target, name, new in ((resting, 'time', self),
                                  (thread, 'rests', self.is_resting)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def is_resting(self, number: int) -> bool:
        if number not in self.rests:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return self.now >= self.rests[number]

    def order(self, seconds: float) -> list[tuple[int, float]]:
        return [(number, round(self.now, 2)) for number
                in resting.first_resting(self.rests, seconds)]

    def test_each_when_it_rests(self) -> None:
        self.rests = {1: 0.3, 2: 0.0, 3: 0.1}
        self.assertEqual([(2, 0.0), (3, 0.1), (1, 0.3)], self.order(1.0))

    def test_what_never_rests_comes_last(self) -> None:
        self.rests = {1: 9.0, 2: 0.2, 3: 9.0}
        self.assertEqual([(2, 0.2), (1, 0.5), (3, 0.5)], self.order(0.5))

    def test_one_that_has_ended(self) -> None:
        self.assertEqual([4], list(resting.first_resting([4], 1.0)))

    def test_none(self) -> None:
        self.assertEqual([], self.order(1.0))
