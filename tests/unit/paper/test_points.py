# SPDX-License-Identifier: Apache-2.0

import math
import unittest

from nova_rt.rules import reservation
from paper import points


class CurveTest(unittest.TestCase):

    def test_small_requests(self):
        first, second = points.curve((100, 5000), 128, 0.5, 0.8)
        self.assertEqual('128B-0.5-0.8-1000Mb-100us', first.name)
        self.assertEqual('128B-0.5-0.8-1000Mb-5000us', second.name)
        self.assertEqual(reservation.Reservation(1600, 2000),
                         first.reservation)
        self.assertEqual((100, 50), (first.interval_us,
                                     first.workload.service.mean))
        self.assertEqual(math.inf, first.queueing_megabits)
        # Of an M/M/1 queue: 0.625 / (1 - 0.625).
        self.assertAlmostEqual(5 / 3, first.workload.backlog)

    def test_large_requests_queue_for_the_link(self):
        point, = points.curve((250,), 2048, 0.5, 0.8, 100)
        self.assertEqual('2048B-0.5-0.8-100Mb-250us', point.name)
        self.assertEqual(100, point.queueing_megabits)
