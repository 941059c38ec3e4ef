# SPDX-License-Identifier: Apache-2.0

"""Tests how late a server may be, and what a kernel keeps."""

import functools
import os
import random

import ddt
import numpy as np
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model.simulator import company as simulation
from rt_models.model.simulator import cpu
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic
from tests import seeds
from tests.unit.rt_models.model.simulator import company

DEADLINE = kernel.Kernel(kernel.Rule.SCHED_DEADLINE, 4000)
GROUPS = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4000)
_SETS = int(os.environ.get('NOVA_RT_SETS', 60))


@ddt.ddt
class LateTest(base.BaseTestCase):

    def test_formulas(self):
        self.assertEqual(400, kernel.CBS.late_us(1600, 2000))
        self.assertEqual(0, kernel.CBS.late_us(2000, 2000))
        self.assertEqual(400 + 16_000, DEADLINE.late_us(1600, 2000))
        self.assertEqual(4000, GROUPS.late_us(7000, 10_000))
        self.assertEqual(2 * 12_000 + 4000, GROUPS.late_us(4000, 20_000))

    def test_the_wait_for_others_is_what_admission_allows(self):
        """Nobody may run before a server that has less than a tick left."""
        rule = GROUPS.fixed_priorities
        first = rt_reservation.Reservation(
            rt_reservation.MIN_RUNTIME_US, 10_000)
        for runtime_us, admitted in ((1990, True), (1999, False)):
            one = rt_reservation.Reservation(runtime_us, 10_000)
            self.assertEqual(admitted, rule.response_us(one, [first])
                             is not None)
            self.assertEqual(
                2 * (6000 - runtime_us) + 4000 if admitted else 4000,
                GROUPS.late_us(runtime_us, 10_000))

    def late_us(self, draw, simulated, servers, place, requests):
        """Returns how late the latest request of a server is.

        The server beside neighbours is compared with the fluid queue.

        :param requests: a function that draws requests until a time
        """
        one = servers[place]
        until_us = 40 * max(other.period_us for other in servers)
        asked = requests(one, until_us / 2)
        seen = simulated.simulate(draw, [
            cpu.Station(other, asked if number == place else draw.choice((
                company.busy_from(0.0), requests(other, until_us))))
            for number, other in enumerate(servers)],
            until_us)[place].responses_us
        fluid = lone.responses_us(traffic.Arrivals(
            asked.arrivals_us, asked.works_us / one.share), 1, 1)
        return (seen - fluid)[np.isfinite(seen)].max(initial=0)

    @ddt.data((kernel.CBS, company.Kernel('cbs')),
              (DEADLINE, company.Kernel('sched_deadline', 4000)),
              (GROUPS, company.fixed_priorities(4000)))
    @ddt.unpack
    def test_holds_for_each_request(self, known, simulated):
        draw = random.Random(seeds.seed())  # noqa: S311
        for _ in range(_SETS):
            servers = company.admitted(draw, simulated, 10_000)
            place = draw.randrange(len(servers))
            one = servers[place]
            self.assertLessEqual(
                self.late_us(draw, simulated, servers, place,
                             functools.partial(company.random_requests,
                                               draw)),
                known.late_us(one.runtime_us, one.period_us) + 1e-3,
                f'{one} of {servers}')

    def test_holds_for_chosen_requests_on_mainline(self):
        draw = random.Random(seeds.seed())  # noqa: S311
        for _ in range(_SETS):
            tick_us = draw.choice((1000, 4000, 10_000))
            servers = company.admitted(
                draw, company.fixed_priorities(tick_us), 5 * tick_us // 2)
            one = servers[0]
            self.assertLessEqual(
                self.late_us(
                    draw, company.fixed_priorities(tick_us), servers, 0,
                    lambda server, until_us, tick_us=tick_us:
                    company.chosen_requests(draw, server, tick_us,
                                            until_us)),
                kernel.Kernel(GROUPS.rule, tick_us).late_us(
                    one.runtime_us, one.period_us) + 1e-3,
                f'{one} of {servers}')


@ddt.ddt
class PeriodTest(base.BaseTestCase):

    def test_shortest(self):
        self.assertEqual(10_000, GROUPS.shortest_period_us)
        GROUPS.check(6_000, 10_000)
        error = self.assertRaises(exception.InvalidLoad, GROUPS.check, 1,
                                  9_999)
        self.assertIn('rt_group_sched cannot keep a period below 10000 us',
                      str(error))
        DEADLINE.check(100, 100)
        kernel.CBS.check(100, 100)

    @ddt.data((kernel.Rule.CBS, 1), (kernel.Rule.SCHED_DEADLINE, -1),
              (kernel.Rule.RT_GROUP_SCHED, 0))
    @ddt.unpack
    def test_ticks(self, rule, tick):
        self.assertRaises(exception.InvalidLoad, kernel.Kernel, rule, tick)

    def test_deadline_servers_with_a_timer(self):
        fine = kernel.Kernel(kernel.Rule.SCHED_DEADLINE)
        self.assertFalse(fine.at_ticks)
        self.assertEqual(400, fine.late_us(1600, 2000))


class SimulateTest(base.BaseTestCase):

    def shares(self, known, *reservations):
        traces = simulation.simulate(known, [
            cpu.Station(rt_reservation.Reservation(*one), traffic.busy())
            for one in reservations], until_us=6e6)
        return [round(float(one.received_us(np.array([6e6]))[0]) / 6e6, 2)
                for one in traces]

    def test_shorter_period_first(self):
        for known in (kernel.CBS, DEADLINE, GROUPS):
            self.assertEqual([0.6, 0.3], self.shares(
                known, (600_000, 1_000_000), (30_000, 100_000)))

    def test_what_no_host_admits(self):
        for known in (kernel.CBS, GROUPS):
            error = self.assertRaises(
                exception.InvalidLoad, self.shares, known,
                (600_000, 1_000_000), (50_000, 100_000))
            self.assertIn('on one CPU', str(error))

    def test_load(self):
        """A server alone under hard CBS gives the same result as ``lone``."""
        one = rt_reservation.Reservation(1600, 2000)
        requests = traffic.poisson(rt_load.Load(1000, 2000), 500, 1)
        np.testing.assert_allclose(
            simulation.simulate(kernel.CBS, [cpu.Station(one, requests)]
                                )[0].responses_us,
            lone.responses_us(requests, 1600, 2000), rtol=1e-6)
