# SPDX-License-Identifier: Apache-2.0

"""What is tested here: vCPUs, periods, and which model is asked."""

from oslotest import base

from nova_rt import exception
from nova_rt.model import contended
from nova_rt.model import exact
from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt.model import planner
from nova_rt import reservation as rt_reservation

LOAD = rt_load.Load(100, 1000)
TARGET = rt_load.Target(40_000, 0.99)


class SplitTest(base.BaseTestCase):

    def test_equal_parts(self):
        self.assertEqual(rt_load.Load(25, 1000), planner.split(LOAD, 4))

    def test_no_vcpu(self):
        self.assertRaises(exception.InvalidLoad, planner.split, LOAD, 0)


class PlanTest(base.BaseTestCase):

    def test_models(self):
        question = planner.Question(LOAD, TARGET)
        for fluid, model in ((True, paper), (False, exact)):
            reservation = planner.plan(question, 100_000, fluid)
            self.assertEqual(100_000, reservation.period_us)
            self.assertEqual(
                model.smallest_runtime_us(LOAD, TARGET, 100_000),
                reservation.runtime_us)

    def test_paper_has_no_overhead(self):
        question = planner.Question(LOAD, TARGET, overhead_us=1)
        self.assertRaises(exception.InvalidLoad, planner.plan, question,
                          1000, True)

    def test_limits_are_passed_on(self):
        question = planner.Question(LOAD, TARGET, rt_load.Network(100), 0.9,
                                    20)
        self.assertEqual(
            exact.smallest_runtime_us(LOAD, TARGET, 5000, 0.9,
                                      rt_load.Network(100), 20),
            planner.plan(question, 5000).runtime_us)


class PeriodTest(base.BaseTestCase):

    def choose(self, target=TARGET, **keywords):
        return planner.choose_period_us(
            planner.Question(LOAD, target, **keywords))

    def test_shortest_where_it_costs_nothing(self):
        self.assertEqual(1000, self.choose())

    def test_longer_where_it_costs(self):
        self.assertEqual(2000, self.choose(overhead_us=10))
        self.assertEqual(5000, self.choose(overhead_us=100))

    def test_shorter_for_a_shorter_target(self):
        self.assertLess(
            self.choose(rt_load.Target(20_000, 0.99), overhead_us=100), 5000)

    def test_no_period_will_do(self):
        self.assertEqual(1000, self.choose(rt_load.Target(500)))

    def test_holds_whatever_else_runs(self):
        """What the choice is made by: no other period needs less for it."""
        question = planner.Question(LOAD, TARGET, overhead_us=10)
        costs = {}
        for period in planner.PERIODS_US[:-2]:
            sure = rt_load.Target(TARGET.time_us - period, TARGET.percentile)
            runtime = paper.smallest_runtime_us(LOAD, sure, period) + 10
            trip = contended.RoundTrip(
                LOAD, rt_reservation.Reservation(runtime, period),
                overhead_us=10)
            self.assertLessEqual(trip.percentile_us(0.99), TARGET.time_us)
            costs[runtime / period] = period
        self.assertEqual(costs[min(costs)],
                         planner.choose_period_us(question))
