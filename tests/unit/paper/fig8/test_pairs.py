# SPDX-License-Identifier: Apache-2.0

import unittest

import ddt

from paper.fig8 import pairs


@ddt.ddt
class PairsTest(unittest.TestCase):

    def test_the_papers_pair(self):
        pair = pairs.PAIRS['paper']
        self.assertEqual([(6000, 100_000)] * 4, pair.tasks(pairs.PERIODIC))
        self.assertAlmostEqual(0.6, pair.workload.service.mean
                               / pair.workload.intervals.mean)
        self.assertAlmostEqual(257, 100_000 / pair.workload.intervals.mean)

    def test_nobody_and_the_greedy(self):
        pair = pairs.PAIRS['slowest']
        self.assertEqual([], pair.tasks(pairs.NOBODY))
        self.assertEqual([(10 ** 6, 10 ** 6)] * 4, pair.tasks(pairs.GREEDY))

    @ddt.data(*pairs.PAIRS)
    def test_the_server_is_loaded_and_not_overloaded(self, name):
        pair = pairs.PAIRS[name]
        share = pair.server.runtime_us / pair.server.period_us
        self.assertGreater(share, pairs.LOAD)
        self.assertAlmostEqual(pair.scale, pair.good_us / 2000)

    @ddt.data(('paper', 10_000), ('slower', 1000))
    @ddt.unpack
    def test_rare_requests_are_fewer(self, name, count):
        self.assertEqual(count, pairs.PAIRS[name].requests(10_000))

    def test_cases_of_one_scheduler(self):
        self.assertEqual({'reservation'}, {
            scheduler for scheduler, _ in pairs.cases([pairs.RESERVED])})
