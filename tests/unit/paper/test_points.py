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

    def test_a_scale_keeps_all_proportions(self):
        one, = points.curve((250,), 2048, 0.5, 0.8, 100)
        ten, = points.curve((250,), 2048, 0.5, 0.8, 100, scale=10)
        self.assertEqual('2048B-0.5-0.8-10Mb-2500us-x10', ten.name)
        self.assertEqual(reservation.Reservation(16_000, 20_000),
                         ten.reservation)
        self.assertEqual((10, 10), (
            ten.interval_us / one.interval_us,
            ten.workload.service.mean / one.workload.service.mean))
        self.assertEqual(one.workload.size, ten.workload.size)
        self.assertEqual(one.queueing_megabits, 10 * ten.queueing_megabits)
        self.assertEqual((1, 10), (points.scale_of(one.name),
                                   points.scale_of(ten.name)))
