# SPDX-License-Identifier: Apache-2.0

from oslotest import base

from rt_probe import allowance

_S = 1_000_000_000


class AllowanceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.allowance = allowance.Allowance(0.01)

    def test_nothing_spent(self):
        self.assertEqual(0, self.allowance.debt_ns(5))
        self.assertEqual(0, self.allowance.free_ns())

    def test_time_makes_up(self):
        self.allowance.spend(_S, 7 * _S)
        self.assertEqual(107 * _S, self.allowance.free_ns())
        self.assertEqual(_S // 2, self.allowance.debt_ns(57 * _S))
        self.assertEqual(0, self.allowance.debt_ns(107 * _S))
        self.assertEqual(0, self.allowance.debt_ns(1000 * _S))

    def test_what_is_spent_before_that_adds_up(self):
        self.allowance.spend(_S, 0)
        self.allowance.spend(_S, 50 * _S)
        self.assertEqual(200 * _S, self.allowance.free_ns())

    def test_time_that_passed_before_is_no_credit(self):
        self.allowance.spend(_S, 0)
        self.allowance.spend(_S, 1000 * _S)
        self.assertEqual(1100 * _S, self.allowance.free_ns())
