# SPDX-License-Identifier: Apache-2.0

"""Reading what the benchmark of the loop printed."""

import unittest

from paper import loop

_OUTPUT = '''0 day: static 0.81; loop 0.645 (20% less), 96.7% of 60 windows \
meet the target, 27 changes
9 walk: static 0.70; loop 0.732 (-0% less), 100.0% of 60 windows meet the \
target, 22 changes
all: 98.3% of the windows, 7.5% less bandwidth; worst trace: 96.7%, -5.0%
'''


class LoopTest(unittest.TestCase):

    def test_the_table_has_a_line_for_each_trace(self):
        lines = loop.table(_OUTPUT).splitlines()
        self.assertEqual(
            ['day 0.81 0.645 20 % 96.7 % 27',
             'walk 0.70 0.732 0 % 100.0 % 22'],
            [' '.join(line.split()) for line in lines[3:-1]])

    def test_the_numbers_are_those_of_all_traces(self):
        self.assertEqual(
            {'loop.met': '98.3 %', 'loop.less': '7.5 %',
             'loop.windows': '60'}, dict(loop.named(_OUTPUT)))
