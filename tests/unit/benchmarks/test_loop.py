# SPDX-License-Identifier: Apache-2.0

"""Tests the simulated server on which the benchmark runs the loop."""

import math

from oslotest import base

from benchmarks import loop


class ServerTest(base.BaseTestCase):

    def test_waiting_requests_get_the_new_runtime(self):
        server = loop.Server()
        self.assertEqual([], [*server.serve(
            [(0.0, 100_000.0)], 50_000.0, 1000)])
        # 5 ms are served; the rest takes 10 periods of 9 ms and 5 ms more.
        answer, = server.serve((), math.inf, 9000)
        self.assertEqual(50_000 + 10 * 10_000 + 5000, answer.end)

    def test_the_runtime_makes_no_difference_to_the_work(self):
        parts, whole = loop.Server(), loop.Server()
        arrived = [(at * 7000.0, 3000.0) for at in range(50)]
        answers = []
        for number in range(50):
            answers += parts.serve(arrived[number:number + 1],
                                   number * 7000.0 + 500, 4000)
        answers += parts.serve((), math.inf, 4000)
        self.assertEqual([*whole.serve(arrived, math.inf, 4000)], answers)

    def test_a_request_counts_in_the_window_of_its_arrival(self):
        self.assertEqual(0.5, loop.met([
            loop.Answer(1.0, 1.0, 30_000.0), loop.Answer(19e6, 1.0, 20e6),
            *(loop.Answer(21e6, 1.0, 21e6 + 5) for _ in range(20))]))
