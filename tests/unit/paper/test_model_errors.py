# SPDX-License-Identifier: Apache-2.0

"""Reading what the benchmark of the model printed."""

import unittest

from paper import model_errors

_OUTPUT = '''Errors in %; the simulator is sure to within +-
 Q/P  load   1/mu |    mean     +-   paper |     p99     +-   paper |    ms
 0.3   0.3   0.05 |  -0.140  0.201  187.92 |   0.105  0.300   77.20 |   7.1
 0.3   0.7   0.05 |   0.040  0.144   73.97 |  -0.259  0.250   13.67 |   6.9
 0.9  0.85     20 |  -0.000  0.000    0.03 |   0.001  0.002    0.01 |   5.0
mean: mean absolute error 0.060% (paper 87.31%), at most 2% allowed
'''


class ModelErrorsTest(unittest.TestCase):

    def test_each_cell_has_the_errors_of_both_models(self):
        first, _, last = model_errors.cells(_OUTPUT)
        self.assertEqual(
            (0.3, 0.3, 0.05, (-0.140, 0.105), (187.92, 77.20), 7.1),
            (first.share, first.used, first.length, first.exact, first.paper,
             first.milliseconds))
        self.assertEqual((0.9, 20), (last.share, last.length))

    def test_the_table_has_a_line_for_each_length(self):
        lines = model_errors.table(_OUTPUT).splitlines()
        self.assertEqual(
            ['0.05 0.090 (0.14) 130.94 (187.9) 0.182 (0.26) 45.44 (77.2)',
             '20 0.000 (0.00) 0.03 (0.0) 0.001 (0.00) 0.01 (0.0)'],
            [' '.join(line.split()) for line in lines[3:-1]])

    def test_errors_are_averaged_without_their_signs(self):
        found = dict(model_errors.named(_OUTPUT))
        self.assertEqual(
            ('3', '0.26 %', '0.060 %', '87.3 %', '0.122 %', '7.1 ms'), tuple(
                found[f'model.{name}'] for name in (
                    'cells', 'worst', 'exact.mean', 'paper.mean', 'exact.p99',
                    'took')))

    def test_the_exact_model_needs_less_in_the_example(self):
        found = dict(model_errors.named(_OUTPUT))
        self.assertLess(*(float(found[f'example.{model}'].split()[0])
                          for model in ('exact', 'paper')))
