# SPDX-License-Identifier: Apache-2.0

"""Tests the loop that keeps a percentile target."""

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_monitor import histogram
from rt_operate import advice
from rt_operate import loop
from tests.unit import base as unit

PERIOD = 10_000
TARGET = rt_load.Target(40_000.0, 0.95)
LIMITS = loop.Limits(0.1, 0.6)


def measured(count=2000, cpu_s=4.0, took_ms=20.0, runtime=3000, unclear=0,
             missed=0):
    """A server over 20 s, of which all requests took the same time."""
    took = [0] * histogram.BUCKETS
    took[histogram.bucket_of(int(took_ms * 1_000_000))] = count
    held = reservation.Reservation(runtime, PERIOD) if runtime else None
    return advice.MeasuredLoad(
        [count // 20] * 20, 20.0, [cpu_s / 20] * 20, 1,
        histogram.Histogram.from_counts(took, 0), held, 0, unclear,
        missed)


class LoopTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.loop = loop.Loop(TARGET, LIMITS, rt_kernel.Kernel())

    def steps(self, times=4, **load):
        return [self.loop.step(measured(**load)) for _ in range(times)]

    def test_nothing_on_doubtful_signals(self):
        for load, reason in ((
                {'unclear': 1}, '1 exchanges are unclear'), (
                {'missed': 21}, 'did not give 21 events'), (
                {'count': 20}, ' requests were seen, '), (
                {'runtime': 0}, 'has no reservation')):
            for decision in self.steps(**load, took_ms=90):
                self.assertIsNone(decision.runtime_us)
                self.assertIn(reason, decision.reason)

    def test_it_grows_at_once(self):
        decision, = self.steps(1, took_ms=70, cpu_s=7.0)
        self.assertGreater(decision.runtime_us, 3000)
        self.assertIn('took up to 70.3 ms', decision.reason)
        self.assertIn('the target is 40.0 ms; the load needs more: 3000 us ->',
                      decision.reason)

    def test_it_grows_to_three_times_at_most(self):
        decision, = self.steps(1, took_ms=500, cpu_s=11.0, runtime=1500)
        self.assertEqual(4500, decision.runtime_us)

    def test_waiting_requests_count(self):
        """Requests that are not answered yet need CPU time, too."""
        alone, = self.steps(1, cpu_s=4.0)
        self.loop = loop.Loop(TARGET, LIMITS, rt_kernel.Kernel())
        waiting, = self.steps(1, took_ms=200, cpu_s=4.0)
        self.assertGreater(waiting.runtime_us, alone.runtime_us or 3000)

    def test_a_growing_delay_is_a_higher_rate(self):
        """The monitor counts answers, of which a full server gives few."""
        seen = self.loop._with_arrivals(measured(took_ms=10_000))
        self.assertAlmostEqual(10.0, seen.span_s, delta=0.2)
        same = self.loop._with_arrivals(measured(took_ms=10_000))
        self.assertAlmostEqual(20.0, same.span_s, delta=0.2)

    def test_it_shrinks_slowly(self):
        first, second = self.steps(2, runtime=5000, cpu_s=1.0)
        self.assertEqual([4000, 4000], [first.runtime_us, second.runtime_us])
        self.assertIn('the load needs less', second.reason)

    def test_a_missed_target_without_a_reason(self):
        decision, = self.steps(1, runtime=5000, cpu_s=1.0, took_ms=50)
        self.assertEqual(6000, decision.runtime_us)

    def test_measurements_of_the_same_rate_count_together(self):
        """One of them alone has too few requests."""
        few = {'count': 60, 'cpu_s': 0.1}
        first, second = self.steps(2, **few)
        self.assertIn('only 60 requests', first.reason)
        self.assertNotIn('only', second.reason)

    def test_measurements_of_another_rate_do_not_count(self):
        self.steps(3, count=4000, cpu_s=8.0)
        decision, = self.steps(1, count=60, cpu_s=0.1)
        self.assertIn('only 60 requests', decision.reason)

    def test_it_stays_near_what_it_needs(self):
        runtime = 5000
        for _ in range(60):
            decision = self.loop.step(measured(runtime=runtime))
            runtime = decision.runtime_us or runtime
        self.assertTrue(all(each.runtime_us is None
                            for each in self.steps(2, runtime=runtime)))

    @hypothesis.given(st.integers(100, 6000), st.floats(0.1, 19),
                      st.floats(1, 900), st.integers(500, 9000))
    @hypothesis.settings(unit.PROPERTY, max_examples=5)
    def test_within_limits_and_rates(self, count, cpu_s, took_ms, runtime):
        controller = loop.Loop(TARGET, LIMITS, rt_kernel.Kernel())
        for _ in range(2):
            found = controller.step(measured(
                count, cpu_s, took_ms, runtime)).runtime_us
            if found is not None:
                self.assertTrue(1000 <= found <= 6000, found)
                if 1000 <= runtime <= 6000:
                    self.assertTrue(
                        0.79 * runtime <= found <= 3 * runtime, found)


class LimitsTest(base.BaseTestCase):

    def limits(self, **specs):
        return loop.limits_of({f'hw:cpu.rt_auto_{name}_share': text
                               for name, text in specs.items()})

    def test_limits(self):
        self.assertEqual(LIMITS, self.limits(min='0.1', max='0.6'))

    def test_bad_limits(self):
        for specs in ({}, {'min': '0.1'}, {'min': 'x', 'max': '1'},
                      {'min': '0.5', 'max': '0.1'}, {'min': '0', 'max': '1'},
                      {'min': '0.1', 'max': '1.1'}, {'min': 'nan',
                                                     'max': '1'}):
            error = self.assertRaises(exception.InvalidReservation,
                                      self.limits, **specs)
            self.assertIn('set hw:cpu.rt_auto_min_share', str(error))


class TargetTest(base.BaseTestCase):

    def target(self, **specs):
        return loop.target_of({f'hw:cpu.rt_auto_{name}': text
                               for name, text in specs.items()})

    def test_targets(self):
        self.assertEqual(rt_load.Target(20_000.0, 0.99),
                         self.target(target_ms='20'))
        self.assertEqual(rt_load.Target(2_500.0, 0.9),
                         self.target(target_ms='2.5', percentile='0.9'))

    def test_bad_targets(self):
        for specs in ({}, {'target_ms': 'x'}, {'target_ms': '0'},
                      {'target_ms': '5', 'percentile': '1'},
                      {'target_ms': '5', 'percentile': 'nan'}):
            error = self.assertRaises(exception.InvalidReservation,
                                      self.target, **specs)
            self.assertIn('set hw:cpu.rt_auto_target_ms', str(error))
