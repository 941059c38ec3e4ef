# SPDX-License-Identifier: Apache-2.0

"""Servers that come and go leave nothing behind."""

import os

from benchmarks import agent
from benchmarks import stand_ins
from rt_monitor import transactions
from tests.functional.kernel.monitor import base

#: With this many, all numbers of servers are given out once: there are 256.
AT_ONCE, UNTIL_SETTLED, MORE = 90, 3, 1


class SoakTest(base.ProgramsTest):

    needs = transactions.Transactions.name

    def test_flat(self):
        rows = []
        with stand_ins.monitor() as monitor:
            for turn in range(UNTIL_SETTLED + MORE):
                names = [f'{turn}-{number}' for number in range(AT_ONCE)]
                seen = agent.generation(monitor, names)
                missed = sum(monitor.read().missed_runs.values())
                if missed:
                    self.skipTest(f'the programs missed {missed} events')
                self.assertEqual(AT_ONCE, seen)
                rows.append((agent.map_bytes(),
                             len(os.listdir('/proc/self/fd'))))
        settled = rows[UNTIL_SETTLED - 1]
        self.assertEqual([settled] * MORE, rows[UNTIL_SETTLED:])
