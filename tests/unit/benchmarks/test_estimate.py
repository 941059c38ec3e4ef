# SPDX-License-Identifier: Apache-2.0

"""Tests confidence intervals."""

from oslotest import base

from benchmarks import estimate
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_models.model import paper

LOAD = rt_load.Load(500, 1000)


class EstimateTest(base.BaseTestCase):

    def test_fluid_queue_itself(self):
        """A whole CPU is its own control: the error vanishes."""
        whole = rt_reservation.Reservation(100, 100)
        plan = estimate.Plan(runs=4, requests=1000)
        mean, percentile = estimate.estimate(LOAD, whole, (0.9,), plan)
        self.assertAlmostEqual(paper.mean_us(LOAD, whole), mean.value_us)
        self.assertAlmostEqual(paper.percentile_us(LOAD, whole, 0.9),
                               percentile.value_us)
        self.assertLess(mean.margin_us, 1e-6)

    def test_more_runs_are_nearer(self):
        reservation = rt_reservation.Reservation(7000, 10_000)
        few, many = (estimate.estimate(
            LOAD, reservation, (0.9,), estimate.Plan(runs, 2000))
            for runs in (5, 80))
        for one, other in zip(few, many, strict=True):
            self.assertLess(other.margin_us, one.margin_us)
            self.assertLess(abs(one.value_us - other.value_us),
                            one.margin_us + other.margin_us)

    def test_student(self):
        """Values of the tables."""
        for confidence, freedom, expected in (
                (0.95, 18, 2.101), (0.95, 8, 2.306), (0.99, 10, 3.169)):
            self.assertAlmostEqual(
                expected, estimate._student(confidence, freedom), delta=0.02)
