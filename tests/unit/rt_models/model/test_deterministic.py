# SPDX-License-Identifier: Apache-2.0

"""What is tested here: hard guarantees."""

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import deterministic
from tests.unit import base as unit
from tests.unit.rt_models.model import strategies

RESERVATION = rt_reservation.Reservation(30, 100)


class SupplyTest(base.BaseTestCase):

    def test_by_hand(self):
        """Nothing for 140 us, 30 us, nothing for 70 us ..."""
        for interval, supply in ((0, 0), (140, 0), (141, 1), (170, 30),
                                 (240, 30), (250, 40), (270, 60)):
            self.assertEqual(
                supply, deterministic.supply_us(RESERVATION, interval))
            self.assertEqual(3 * supply, deterministic.supply_us(
                RESERVATION, interval, vcpus=3))

    def test_whole_cpu(self):
        self.assertEqual(123, deterministic.supply_us(
            rt_reservation.Reservation(50, 50), 123))

    @hypothesis.given(strategies.reservations(), st.integers(1, 10 ** 6))
    @unit.PROPERTY
    def test_response_bound_is_the_inverse(self, reservation, work):
        bound = deterministic.response_bound_us(work, reservation)
        self.assertEqual(work, deterministic.supply_us(reservation, bound))
        if reservation.share < 1:
            self.assertLess(
                deterministic.supply_us(reservation, bound - 1), work)


class DeadlinesTest(base.BaseTestCase):

    def meets(self, *tasks, reservation=RESERVATION, vcpus=1):
        return deterministic.meets_deadlines(
            [deterministic.Task(*task) for task in tasks], reservation,
            vcpus)

    def test_one_task(self):
        bound = deterministic.response_bound_us(20, RESERVATION)
        self.assertTrue(self.meets((20, 1000, int(bound))))
        self.assertFalse(self.meets((20, 1000, int(bound) - 1)))

    def test_none(self):
        self.assertTrue(self.meets())

    def test_interference_of_higher_priority(self):
        """Up to three activations of the first count within 370 us."""
        self.assertEqual(90, deterministic.supply_us(RESERVATION, 370))
        first = (10, 300, 300)
        self.assertTrue(self.meets(first, (60, 1000, 370)))
        self.assertFalse(self.meets(first, (61, 1000, 370)))

    def test_vcpus_share_the_interference(self):
        """Two others run 66 us each, and the task needs 33 of 100 us."""
        whole = rt_reservation.Reservation(100, 100)
        tasks = ((33, 100, 100),) * 3
        self.assertFalse(self.meets(*tasks, reservation=whole))
        self.assertTrue(self.meets(*tasks, reservation=whole, vcpus=2))

    def test_one_unit_too_many(self):
        """The test of whole CPUs, from which this one comes, is strict."""
        whole = rt_reservation.Reservation(10, 10)
        self.assertTrue(self.meets((10, 10, 10), reservation=whole))
        self.assertFalse(self.meets((11, 20, 10), reservation=whole))
