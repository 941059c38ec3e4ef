# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.transactions: what edges and servers add up to."""

import unittest

from rt_monitor import transactions

EDGE = transactions.Edge(700, 5_000, unclear=3)


class EdgeTest(unittest.TestCase):

    def test_unclear_exchanges_are_added(self):
        self.assertEqual(transactions.Edge(701, 5_002, unclear=7),
                         EDGE + transactions.Edge(1, 2, unclear=4))

    def test_unclear_exchanges_since_then(self):
        self.assertEqual(transactions.Edge(600, 4_000, unclear=2),
                         EDGE.since(transactions.Edge(100, 1_000, unclear=1)))
