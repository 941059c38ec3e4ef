# SPDX-License-Identifier: Apache-2.0

"""rt_operate.advice: from measured numbers to a reservation."""

import dataclasses
import functools
import random
import unittest

from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import varied
from rt_monitor import histogram
from rt_operate import advice
from tests import seeds

TARGET = rt_load.Target(20_000, 0.99)


def times(count, ms):
    counts = [0] * histogram.BUCKETS
    counts[histogram.bucket_of(ms * 1_000_000)] = count
    return histogram.Histogram.from_counts(counts, count * ms * 1_000_000)


#: 100 requests a second of 1 ms each.
COUNTS = [90, 110, 95, 105, 100, 88, 112, 100, 93, 107, 86, 114]
PLAIN = advice.MeasuredLoad(
    COUNTS, 12.0, [count / 1000 for count in COUNTS], 1, times(1200, 40),
    reservation.Reservation(20_000, 100_000), 0)


class AdviceTest(unittest.TestCase):

    def advise(self, target=TARGET, **different):
        return advice.advise(dataclasses.replace(PLAIN, **different), target,
                             kernel.CBS)

    def test_plain(self):
        found = self.advise()
        self.assertAlmostEqual(40_000, found.measured_us, delta=40_000 / 60)
        self.assertFalse(found.met)
        self.assertLessEqual(found.promised_us, 20_000)
        self.assertEqual((), found.doubts)
        # The smallest: with a little less the target is missed.
        wanted = found.wanted
        self.assertGreater(varied.RoundTrip(
            PLAIN.most, wanted.runtime_us - wanted.period_us // 500,
            wanted.period_us, 0, kernel.CBS).percentile_us(0.99), 20_000)

    def test_met(self):
        self.assertTrue(self.advise(rt_load.Target(50_000, 0.99)).met)

    def test_equal_requests_need_less_than_others(self):
        # So far from the mean, in requests, with no order.
        off = random.Random(1).choices([-6, -2, 1, 7], k=60)  # noqa: S311
        equal = {'counts': [20] * 60, 'cpu_parts_s': [0.02] * 60}
        different = {**equal, 'cpu_parts_s': [
            (20 + each) / 1000 for each in off]}
        found = self.advise(**different)
        self.assertGreater(found.variation, 1)
        self.assertGreater(found.wanted.share,
                           self.advise(**equal).wanted.share)

    def test_variation_is_that_of_the_parts(self):
        """The test has 1200 parts of 100 requests with random CPU times."""
        rng = random.Random(seeds.seed())  # noqa: S311
        for shape in (1.0, 4.0):
            work = functools.partial(rng.gammavariate, shape, 1e-3 / shape)
            parts = [sum(work() for _ in range(100)) for _ in range(1200)]
            found = dataclasses.replace(PLAIN, counts=[100] * 1200,
                                        cpu_parts_s=parts, took=times(1, 1))
            self.assertGreater(found.variation, 0.7 / shape)
            self.assertLess(found.variation, 2.2 / shape)
            self.assertEqual(found.measured_variation, found.variation)

    def test_variation_was_not_measured(self):
        found = dataclasses.replace(PLAIN, counts=[100] * 6,
                                    cpu_parts_s=[0.1] * 6)
        self.assertIsNone(found.measured_variation)
        self.assertEqual(1.0, found.variation)

    def test_unclear(self):
        with self.assertRaisesRegex(exception.InvalidLoad, 'HTTP/2'):
            self.advise(unclear=3)

    def test_events_are_missing(self):
        requests = PLAIN.requests
        self.advise(missed=requests // 100)
        with self.assertRaisesRegex(exception.InvalidLoad,
                                    'missed events.*requests are missing'):
            self.advise(missed=requests // 100 + 1)

    def test_few_requests_are_taken_with_caution(self):
        few = dataclasses.replace(PLAIN, counts=[100] * 2, span_s=2.0,
                                  cpu_parts_s=[0.1] * 2)
        # 200 requests: the rate and the length may be 10 % more.
        self.assertAlmostEqual(110, few.most.arrival_rate_hz)
        self.assertAlmostEqual(1000 / 1.1, few.most.service_rate_hz)
        many = dataclasses.replace(PLAIN, counts=[10_000] * 2, span_s=200.0,
                                   cpu_parts_s=[10.0] * 2)
        target = rt_load.Target(20_000, 0.99)
        self.assertGreater(
            advice.advise(few, target, kernel.CBS).wanted.share,
            advice.advise(many, target, kernel.CBS).wanted.share)

    def test_without_a_reservation(self):
        self.assertIsNone(self.advise(reservation=None).predicted_us)

    def test_a_reservation_that_serves_too_few(self):
        found = self.advise(
            reservation=reservation.Reservation(5_000, 100_000))
        self.assertIsNone(found.predicted_us)

    def test_doubts(self):
        few = self.advise(counts=[18, 22] * 3, took=times(120, 40),
                          cpu_parts_s=[0.018, 0.022] * 3).doubts
        self.assertIn('120 requests were seen', few[0])
        self.assertIn('so the advice takes them as exponential', few[1])
        regular = self.advise(counts=[100] * 12).doubts
        self.assertIn('need a smaller reservation', regular[0])
        bursts = self.advise(counts=[0, 200] * 6,
                             cpu_parts_s=[0.0, 0.2] * 6).doubts
        self.assertIn('bursts need a larger reservation', bursts[0])
        self.assertIn('2 vCPUs', self.advise(vcpus=2).doubts[0])
        self.assertIn('ran out 7 times', self.advise(exhausted=7).doubts[0])

    def test_nothing_was_asked(self):
        with self.assertRaisesRegex(exception.InvalidLoad, 'watch longer'):
            self.advise(counts=[0] * 12)

    def test_no_response_time_is_known(self):
        with self.assertRaisesRegex(exception.InvalidLoad, 'not known yet'):
            self.advise(took=histogram.Histogram())

    def test_no_reservation_will_do(self):
        with self.assertRaises(exception.NoAnswer):
            self.advise(rt_load.Target(100, 0.99))
