# SPDX-License-Identifier: Apache-2.0

"""tests.full.kernel.sold: the readings of CPU time."""

import unittest
from unittest import mock

from tests.full.kernel import host as hosts
from tests.full.kernel import sold


class UsedTest(unittest.TestCase):

    def used(self, *readings: tuple[int, int, int]) -> tuple[int, int]:
        one = sold.Sold(mock.Mock(), hosts.claim(95_000, 100_000, 3), (1,))
        with mock.patch.object(sold, '_reading', side_effect=readings):
            return one.used()

    def test_readings_that_were_interrupted_do_not_count(self):
        self.assertEqual((30, 3), self.used(
            (90_000_000, 10, 1), (5_000_000, 20, 2), (100_000, 30, 3)))

    def test_the_shortest_of_many(self):
        readings = [(3_000_000 + abs(at - 7), at, at + 1)
                    for at in range(sold.ATTEMPTS)]
        self.assertEqual((7, 8), self.used(*readings))
