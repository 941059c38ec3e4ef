# SPDX-License-Identifier: Apache-2.0

"""Tests results of simulations, against other models."""

import ddt
import fixtures
import numpy as np
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import exact
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import simulated
from rt_models.model.simulator import company
from rt_models.model.simulator import cpu
from rt_models.model.simulator import traffic

GROUPS = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4000)
RESERVATION = rt_reservation.Reservation(8000, 20_000)
LOAD = rt_load.Load(60, 250)
WAY = rt_load.Network(1000, 200)


@ddt.ddt
class PredictTest(base.BaseTestCase):

    def test_hard_cbs_is_the_exact_model(self):
        trip = simulated.predict(LOAD, RESERVATION, WAY, 50)
        known = exact.predict(LOAD, RESERVATION, WAY, 50)
        self.assertAlmostEqual(1, trip.mean_us / known.mean_us, 6)
        for part in (0.5, 0.99):
            time = known.percentile_us(part)
            self.assertAlmostEqual(1, trip.percentile_us(part) / time, 6)
            self.assertAlmostEqual(1 - part, trip.survival(time), delta=0.02)

    @ddt.data(0.1, 2.0)
    def test_groups(self, length):
        """A longer run with other requests gives about the same."""
        rate = rt_load.US_PER_S / (length * RESERVATION.period_us)
        load = rt_load.Load(0.6 * RESERVATION.share * rate, rate)
        trip = simulated.predict(load, RESERVATION, kernel=GROUPS)
        seen = company.simulate(GROUPS, [cpu.Station(
            RESERVATION, traffic.poisson(load, 100_000, 99))]
            )[0].responses_us
        self.assertAlmostEqual(1, trip.mean_us / seen.mean(), delta=0.03)
        self.assertAlmostEqual(
            1, trip.percentile_us(0.99) / np.quantile(seen, 0.99),
            delta=0.05)

    def test_beside(self):
        """A neighbour with an earlier deadline, or a higher priority."""
        other = rt_reservation.Reservation(3000, 12_000)
        fine = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 1000)
        for known in (kernel.CBS, fine):
            alone, beside = (simulated.predict(
                LOAD, RESERVATION, kernel=known, beside=others, runs=2)
                for others in ((), (other,)))
            self.assertGreater(beside.mean_us, 1.05 * alone.mean_us)
            self.assertLess(
                beside.percentile_us(0.9), alone.percentile_us(0.9)
                + known.late_us(RESERVATION.runtime_us,
                                RESERVATION.period_us))

    def test_same_question_same_answer(self):
        one, other = (simulated.predict(LOAD, RESERVATION, kernel=GROUPS,
                                        runs=1) for _ in range(2))
        self.assertEqual(one.mean_us, other.mean_us)

    def test_far_neighbours(self):
        """The simulation ends in time with a request in a thousand periods."""
        rare = rt_load.Load(1, 5)
        simulated.predict(rare, rt_reservation.Reservation(
            2_000_000, 4_000_000), beside=[
                rt_reservation.Reservation(200, 1000)], runs=1)

    @ddt.data(
        ({'load': rt_load.Load(99, 250)}, 'the model gives no result'),
        ({'reservation': rt_reservation.Reservation(8_000, 9_000)},
         'cannot keep a period below'),
        ({'reservation': rt_reservation.Reservation(17_000, 20_000)},
         'keeps at most 16000 us every 20000 us'),
        ({'beside': [rt_reservation.Reservation(600, 1000)]},
         'cannot give each'))
    @ddt.unpack
    def test_refused(self, changes, reason):
        keywords = {'load': LOAD, 'reservation': RESERVATION,
                    'kernel': GROUPS, **changes}
        error = self.assertRaises(exception.InvalidLoad, simulated.predict,
                                  **keywords)
        self.assertIn(reason, str(error))

    def test_percentile_beyond_what_was_seen(self):
        trip = simulated.predict(LOAD, RESERVATION, kernel=GROUPS, runs=1)
        error = self.assertRaises(exception.InvalidLoad, trip.percentile_us,
                                  0.9999)
        self.assertIn('no percentile above 0.9995', str(error))


class InverseTest(base.BaseTestCase):

    def test_meets(self):
        self.useFixture(fixtures.MonkeyPatch(
            'rt_models.model.simulated.REQUESTS', 10_000))
        target = rt_load.Target(60_000, 0.9)
        runtime = simulated.smallest_runtime_us(
            LOAD, target, 20_000, 0.95, kernel=GROUPS)
        for more, meets in ((200, True), (-200, False)):
            trip = simulated.predict(
                LOAD, rt_reservation.Reservation(runtime + more, 20_000),
                kernel=GROUPS)
            self.assertEqual(meets, trip.percentile_us(0.9) <= 60_000)
