# SPDX-License-Identifier: Apache-2.0

import math
import unittest

from nova_rt.rules import reservation
from paper import replay
from tests.unit.paper import base

RESERVATION = reservation.Reservation(150, 1000)


class ReplayTest(unittest.TestCase):

    def responses(self, sent, megabits=math.inf):
        found = base.found(sent, [1] * len(sent), size=125)
        return replay.responses_us(found, RESERVATION, megabits).tolist()

    def test_budget(self):
        # The second has half its work done by the end of the budget.
        self.assertEqual([100, 1050], self.responses([10, 10]))

    def test_link(self):
        # 1000 bits at 10 Mb/s; the second waits for the first.
        # The server works from 110 to 260 and from its deadline, 1110, on.
        self.assertEqual([210 - 10, 1160 - 10],
                         self.responses([10, 10], megabits=10))
