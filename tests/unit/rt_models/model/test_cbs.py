# SPDX-License-Identifier: Apache-2.0

"""Tests the exact model, against limits and the simulator."""

from unittest import mock

import ddt
import hypothesis
from hypothesis import strategies as st
from oslotest import base

from benchmarks import estimate
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import cbs
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import paper
from tests.unit import base as unit
from tests.unit.rt_models.model import strategies

PERIOD_US = 10_000


def given(share, utilisation, requests):
    """A reservation and a load.

    :param utilisation: the utilisation of the reservation
    :param requests: how many requests a whole CPU serves in a period
    """
    reservation = rt_reservation.Reservation(round(share * PERIOD_US),
                                             PERIOD_US)
    rate = requests / PERIOD_US * rt_load.US_PER_S
    return reservation, rt_load.Load(utilisation * share * rate, rate)


def response_time(reservation, load):
    return cbs.ResponseTime(load, reservation.runtime_us,
                            reservation.period_us)


class LimitsTest(base.BaseTestCase):

    def test_short_periods_are_the_paper(self):
        """1 / mu is 10,000 periods."""
        reservation, load = given(0.5, 0.7, 1e-4)
        seen = response_time(reservation, load)
        self.assertAlmostEqual(
            1, seen.mean_us / paper.mean_us(load, reservation), delta=1e-4)
        for one in (0.5, 0.99):
            self.assertAlmostEqual(1, seen.percentile_us(one)
                                   / paper.percentile_us(
                                       load, reservation, one), delta=1e-4)

    def test_long_periods_are_a_whole_cpu(self):
        """Every busy period ends before the budget does."""
        reservation, load = given(0.5, 0.5, 1e4)
        seen = response_time(reservation, load)
        rates = load.arrival_rate_hz, load.service_rate_hz
        self.assertAlmostEqual(
            1, seen.mean_us / paper.mm1_mean_us(*rates), delta=1e-4)
        self.assertAlmostEqual(1, seen.percentile_us(0.99)
                               / paper.mm1_percentile_us(*rates, 0.99),
                               delta=1e-4)

    def test_whole_cpu_is_the_paper(self):
        reservation, load = given(1, 0.8, 2)
        seen = response_time(reservation, load)
        self.assertAlmostEqual(
            1, seen.mean_us / paper.mean_us(load, reservation), delta=1e-5)
        for time in (1000, 10_000, 100_000):
            self.assertAlmostEqual(
                paper.RoundTrip(load, reservation).survival(time),
                seen.survival(time), delta=1e-6)

    def test_rare_requests(self):
        """Computed by hand: exponential work C, with 5 ms every 10 ms."""
        reservation, load = given(0.5, 1e-7, 2)
        seen = response_time(reservation, load)
        for time, work in ((1000, 1000), (5000, 5000), (8000, 5000),
                           (11_000, 6000), (25_000, 15_000)):
            self.assertAlmostEqual(
                2.718281828459045 ** (-work / 5000), seen.survival(time),
                delta=1e-6)

    def test_all_requests_are_counted(self):
        reservation, load = given(0.3, 0.85, 20)
        seen = response_time(reservation, load)
        self.assertEqual(1, seen.survival(0))
        self.assertAlmostEqual(1, seen.survival(1e-6), delta=1e-6)
        self.assertAlmostEqual(0, seen.survival(1e9), delta=1e-6)

    def test_integrals_are_exact(self):
        """Far shorter panels change nothing, even at kinks of the supply."""
        seen = response_time(*given(0.1, 0.3, 5))
        times = [PERIOD_US * number / 20 for number in range(1, 61)]
        values = [seen.survival(time) for time in times]
        with mock.patch.object(numeric, '_PANEL', 0.02):
            for time, value in zip(times, values, strict=True):
                self.assertAlmostEqual(value, seen.survival(time),
                                       delta=2e-6)


class PropertiesTest(base.BaseTestCase):

    @hypothesis.given(strategies.cases(), st.floats(0.01, 0.999))
    @unit.PROPERTY
    def test_between_a_whole_cpu_and_the_paper(self, case, percentile):
        reservation, load = case
        seen = response_time(reservation, load)
        rates = load.arrival_rate_hz, load.service_rate_hz
        ahead = reservation.period_us - reservation.runtime_us
        more = 1 + 1e-5
        for low, value, high in (
                (paper.mm1_mean_us(*rates), seen.mean_us,
                 paper.mean_us(load, reservation)),
                (paper.mm1_percentile_us(*rates, percentile),
                 seen.percentile_us(percentile),
                 paper.percentile_us(load, reservation, percentile))):
            self.assertLessEqual(max(low, high - ahead), value * more)
            self.assertLessEqual(value, high * more)

    @hypothesis.given(strategies.cases(), st.floats(0.01, 0.999))
    @unit.PROPERTY
    def test_percentile_and_survival_agree(self, case, percentile):
        seen = response_time(*case)
        self.assertAlmostEqual(
            1 - percentile, seen.survival(seen.percentile_us(percentile)),
            delta=1e-4)

    @hypothesis.given(strategies.cases(),
                      st.lists(st.floats(0, 1e6), min_size=2, max_size=5))
    @unit.PROPERTY
    def test_survival_never_grows(self, case, times):
        seen = response_time(*case)
        values = [seen.survival(time) for time in sorted(times)]
        for one, later in zip(values, values[1:], strict=False):
            self.assertLessEqual(later, one + 1e-6)

    @hypothesis.given(strategies.cases(), st.floats(0.5, 0.999))
    @hypothesis.settings(unit.PROPERTY, max_examples=10)
    def test_mean_is_the_integral_of_survival(self, case, percentile):
        seen = response_time(*case)
        last, steps = seen.percentile_us(0.9999), 400
        # Shorter near 0: there it falls fast.
        times = [last * (number / steps) ** 2 for number in range(steps + 1)]
        values = [seen.survival(time) for time in times]
        area = sum((end - start) * (one + other) / 2
                   for start, end, one, other in zip(
                       times, times[1:], values, values[1:], strict=False))
        self.assertAlmostEqual(1, area / seen.mean_us, delta=5e-3)


@ddt.ddt
class SimulatorTest(base.BaseTestCase):
    """Within what the runs can tell, 99.9 % confidence, and that is little.

    The whole grid is in benchmarks/model.py.
    """

    PLAN = estimate.Plan(runs=20, requests=10_000, confidence=0.999)

    @ddt.data((0.3, 0.3, 20), (0.3, 0.85, 20), (0.8, 0.7, 20), (0.5, 0.5, 3),
              (0.9, 0.85, 1), (0.3, 0.7, 0.05))
    @ddt.unpack
    def test_cell(self, share, utilisation, requests):
        reservation, load = given(share, utilisation, requests)
        seen = response_time(reservation, load)
        mean, percentile = estimate.estimate(load, reservation, (0.99,),
                                             self.PLAN)
        for true, value, most in (
                (mean, seen.mean_us, 0.02),
                (percentile, seen.percentile_us(0.99), 0.03)):
            self.assertLess(true.margin_us, most * true.value_us)
            self.assertAlmostEqual(true.value_us, value,
                                   delta=true.margin_us)
