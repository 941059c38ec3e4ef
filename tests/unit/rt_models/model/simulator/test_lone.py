# SPDX-License-Identifier: Apache-2.0

"""Tests one server, against closed forms and by hand."""

import numpy as np
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic


def requests(*pairs):
    return traffic.Arrivals(*(np.array(column, dtype=float)
                              for column in zip(*pairs, strict=True)))


class ByHandTest(base.BaseTestCase):
    """A server of 3 us every 10 us."""

    def check(self, expected, *pairs):
        self.assertEqual(
            list(expected),
            lone.responses_us(requests(*pairs), 3, 10).tolist())

    def test_within_the_budget(self):
        self.check([3], (5, 3))

    def test_budget_and_deadline_of_the_start(self):
        self.check([13], (5, 6))
        self.check([11], (5, 4))
        self.check([31], (5, 10))

    def test_queued(self):
        self.check([2, 10, 10], (0, 2), (1, 2), (2, 1))

    def test_wake_up_keeps_what_is_left(self):
        """At time 2, 1 us is left for 8 us: 1 / 8 is below the share."""
        self.check([2, 1, 7], (0, 2), (2, 1), (4, 1))

    def test_wake_up_starts_anew(self):
        """At time 7, 1 us is left for 3 us: 1 / 3 is above the share."""
        self.check([2, 3, 9], (0, 2), (7, 3), (9, 1))

    def test_used_up_when_it_went_idle(self):
        self.check([3, 7], (0, 3), (4, 1))

    def test_wake_up_after_the_deadline(self):
        self.check([3, 3], (0, 3), (10, 3))

    def test_periodic_requests_that_fit(self):
        """The reservation has room for all requests, so no request waits."""
        seen = lone.responses_us(
            traffic.periodic(rt_load.Load(1e5, 1e6 / 3), 1000), 3, 10)
        self.assertEqual({3.0}, set(seen.round(6)))

    def test_periodic_requests_that_are_in_lock_step(self):
        """5 us every 20 us: 3 us at once, the rest in the next period."""
        seen = lone.responses_us(
            traffic.periodic(rt_load.Load(5e4, 2e5), 1000), 3, 10)
        self.assertEqual({12.0}, set(seen.round(6)))


class ClosedFormsTest(base.BaseTestCase):
    """A whole CPU.  3 % is some five standard errors of these runs."""

    LOAD = rt_load.Load(600, 1000)
    COUNT = 200_000

    def test_mm1(self):
        whole = rt_reservation.Reservation(100, 100)
        seen = lone.responses_us(
            traffic.poisson(self.LOAD, self.COUNT, seed=1), 100, 100)
        expected = paper.mean_us(self.LOAD, whole)
        self.assertAlmostEqual(1, seen.mean() / expected, delta=0.03)
        expected = paper.percentile_us(self.LOAD, whole, 0.99)
        self.assertAlmostEqual(1, np.quantile(seen, 0.99) / expected,
                               delta=0.05)

    def test_md1(self):
        """Pollaczek-Khinchine: W = rho S / (2 (1 - rho))."""
        seen = lone.responses_us(
            traffic.fixed_works(self.LOAD, self.COUNT, seed=1), 100, 100)
        expected = 1000 + 0.6 * 1000 / (2 * 0.4)
        self.assertAlmostEqual(1, seen.mean() / expected, delta=0.03)

    def test_almost_a_whole_cpu(self):
        """The loop against the vectors."""
        some = traffic.poisson(self.LOAD, 1000, seed=2)
        whole = lone.responses_us(some, 1e9, 1e9)
        for seen in (lone.responses_us(some, 1e9 * (1 - 1e-12), 1e9),
                     lone.responses_us(some, 5, 5 * (1 + 1e-12))):
            np.testing.assert_allclose(seen, whole, rtol=1e-6)

    def test_seeds(self):
        one, same, other = (traffic.poisson(self.LOAD, 10, seed)
                            for seed in (1, 1, 2))
        self.assertEqual(one.arrivals_us.tolist(), same.arrivals_us.tolist())
        self.assertEqual(one.works_us.tolist(), same.works_us.tolist())
        self.assertNotEqual(one.works_us.tolist(), other.works_us.tolist())
