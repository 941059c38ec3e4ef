# SPDX-License-Identifier: Apache-2.0

import dataclasses
import math
import unittest

from nova_rt.rules import exception
from nova_rt.rules import reservation
from paper import points
from paper import predictions
from paper import workload
from rt_models.model import load
from rt_models.model import paper

#: Every 1000 us a request of 100 us.
WORKLOAD = workload.Workload(
    workload.Distribution(1000), workload.Distribution(100),
    workload.Distribution(128, fixed=True))
HALF = reservation.Reservation(1000, 2000)


class PredictTest(unittest.TestCase):

    def predict(self, reserved, size=WORKLOAD.size):
        return predictions.predict(
            points.Point('one', dataclasses.replace(WORKLOAD, size=size),
                         reserved, 10), delay_us=20)

    def test_whole_cpu(self):
        found = self.predict(reservation.Reservation(2000, 2000))
        # 1 / (10 kHz - 1 kHz), and 20 us on the way.
        for model in ('paper', 'exact'):
            self.assertAlmostEqual(20 + 1e6 / 9000, found[model].mean_us,
                                   places=3)
            self.assertAlmostEqual(20 + 1e6 / 9000 * math.log(100),
                                   found[model].value('p99'), places=3)

    def test_link(self):
        found = self.predict(HALF, workload.Distribution(128))
        network = load.Network(10, 10e6 / (8 * 128))
        self.assertEqual(
            paper.RoundTrip(load.Load(1000, 10_000), HALF, network).mean_us,
            found['paper'].value('mean'))
        self.assertGreater(found['exact'].mean_us,
                           self.predict(HALF)['exact'].mean_us)

    def test_unstable(self):
        with self.assertRaises(exception.InvalidLoad):
            self.predict(reservation.Reservation(100, 2000))

    def test_no_reservation(self):
        with self.assertRaisesRegex(ValueError, 'one has no reservation'):
            self.predict(None)
