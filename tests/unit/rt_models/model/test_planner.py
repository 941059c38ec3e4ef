# SPDX-License-Identifier: Apache-2.0

"""Tests vCPUs, periods, and the choice of the model."""

import dataclasses

import fixtures
from oslotest import base

from nova_rt.rules import exception
from rt_models.model import contended
from rt_models.model import exact
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import planner
from rt_models.model import simulated

LOAD = rt_load.Load(100, 1000)
TARGET = rt_load.Target(40_000, 0.99)
GROUPS = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4000)


class SplitTest(base.BaseTestCase):

    def test_equal_parts(self):
        self.assertEqual(rt_load.Load(25, 1000), planner.split(LOAD, 4))

    def test_no_vcpu(self):
        self.assertRaises(exception.InvalidLoad, planner.split, LOAD, 0)


class PlanTest(base.BaseTestCase):

    def test_models(self):
        question = planner.Question(LOAD, TARGET)
        for asked, fluid, model in (
                (question, True, paper), (question, False, contended),
                (dataclasses.replace(question, alone=True), False, exact)):
            reservation = planner.plan(asked, 20_000, fluid)
            self.assertEqual(20_000, reservation.period_us)
            self.assertEqual(
                model.smallest_runtime_us(LOAD, TARGET, 20_000, 0.95),
                reservation.runtime_us)

    def test_alone_at_ticks(self):
        # It is asked twice, and what it answers is not the point.
        self.useFixture(fixtures.MonkeyPatch(
            'rt_models.model.simulated.REQUESTS', 2000))
        runtime = planner.plan(planner.Question(
            LOAD, TARGET, kernel=GROUPS, alone=True), 20_000).runtime_us
        self.assertEqual(simulated.smallest_runtime_us(
            LOAD, TARGET, 20_000, 0.95, kernel=GROUPS), runtime)
        self.assertLess(runtime, exact.smallest_runtime_us(
            LOAD, TARGET, 20_000))

    def test_period_that_the_kernel_does_not_keep(self):
        for fluid in (False, True):
            error = self.assertRaises(
                exception.InvalidLoad, planner.plan,
                planner.Question(LOAD, TARGET, kernel=GROUPS), 9_000, fluid)
            self.assertIn('cannot keep a period below 10000 us', str(error))

    def test_paper_has_no_overhead(self):
        question = planner.Question(LOAD, TARGET, overhead_us=1)
        self.assertRaises(exception.InvalidLoad, planner.plan, question,
                          1000, True)

    def test_limits_are_passed_on(self):
        question = planner.Question(LOAD, TARGET, rt_load.Network(100), 0.9,
                                    20, GROUPS)
        self.assertEqual(
            contended.smallest_runtime_us(
                LOAD, TARGET, 10_000, 0.9, rt_load.Network(100), 20, GROUPS),
            planner.plan(question, 10_000).runtime_us)


class PeriodTest(base.BaseTestCase):

    def choose(self, target=TARGET, **keywords):
        return planner.choose_period_us(
            planner.Question(LOAD, target, **keywords))

    def test_short_where_it_costs_little(self):
        self.assertEqual(2000, self.choose())

    def test_longer_where_it_costs(self):
        self.assertEqual(5000, self.choose(overhead_us=100))

    def test_long_where_nobody_delays(self):
        self.assertEqual(100_000, self.choose(alone=True))

    def test_one_that_the_kernel_keeps(self):
        self.assertEqual(10_000, self.choose(kernel=GROUPS))
        slow = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 50_000)
        self.assertEqual(125_000, self.choose(kernel=slow))

    def test_no_period_will_do(self):
        self.assertEqual(1000, self.choose(rt_load.Target(500)))

    def test_no_other_period_costs_less(self):
        question = planner.Question(LOAD, TARGET, overhead_us=10)
        costs = {contended.smallest_runtime_us(
            LOAD, TARGET, period, 0.95, overhead_us=10) / period: period
            for period in planner.PERIODS_US[:-2]}
        self.assertEqual(costs[min(costs)],
                         planner.choose_period_us(question))
