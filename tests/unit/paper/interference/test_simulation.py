# SPDX-License-Identifier: Apache-2.0

"""Reading what the simulation printed."""

import unittest

from paper.interference import simulation

_OUTPUT = '''200 runs of each, seed 1
40 of 40, two a host, mix 30:25:25:10:10
  gain over spread, ours     mean   8.41 %, worst  -0.63 %, best  24.94 %
  gain over spread, both     mean   8.61 %, worst  -0.63 %, best  24.94 %
  gain over spread, wrong    mean   7.78 %, worst  -1.77 %, best  26.79 %
  gain over spread, shipped  mean   2.30 %, worst  -8.13 %, best  18.59 %
  share of the optimum: mean 0.9700, least 0.8807
  met    40 of 40, gain over spread, %: 8.409, at least 7.0
60 of 80, four a host, mix 30:25:25:10:10
  gain over spread, ours     mean  19.33 %, worst   2.82 %, best  56.16 %
  gain over spread, both     mean  15.82 %, worst   0.23 %, best  52.85 %
  gain over spread, wrong    mean  15.47 %, worst   0.11 %, best  52.07 %
  gain over spread, shipped  mean   4.21 %, worst  -8.24 %, best  18.68 %
60 of 80, points less with a matrix 10 % wrong:
  seed 1: 3.87
  seed 2: 3.18
  400 runs, 95 % interval of the mean: 3.30 to 3.86
  met    60 of 80, points less with a matrix 10 % wrong: 3.578, at most 4.0
'''


class SimulationTest(unittest.TestCase):

    def test_each_setting_has_its_own_gains(self):
        first, last = simulation.settings(_OUTPUT)
        self.assertEqual(('40 of 40', (8.41, -0.63), '0.9700'),
                         (first.places, first.gains['ours'], first.part))
        self.assertEqual(('60 of 80', (15.47, 0.11), ''),
                         (last.places, last.gains['wrong'], last.part))

    def test_the_table_has_a_line_for_each_setting(self):
        lines = simulation.table(_OUTPUT).splitlines()
        self.assertEqual(
            ['40', 'of', '40', '30:25:25:10:10', '8.4', '%', '-0.6', '%',
             '7.8', '%', '0.9700'], lines[3].split())
        self.assertTrue(lines[4].endswith('not computed'))

    def test_numbers_have_names(self):
        self.assertEqual({
            'gain.shipped.mean': '2.3 to 4.2 %',
            'gain.shipped.worst': '-8.2 %', 'gain.both': '15.8 %',
            'wrong.60.points': '3.578', 'wrong.60.runs': '400',
            'wrong.60.interval': '3.30 to 3.86',
            'wrong.60.seeds': '3.18 to 3.87'}, dict(
                simulation.named(_OUTPUT)))
