# SPDX-License-Identifier: Apache-2.0

import pathlib
import re
import unittest

from paper import bench
from paper import chance
from paper import measure
from paper import published
from paper import scheduling


class ChanceTest(unittest.TestCase):

    def errors(self, requests):
        """The mean's, row by row."""
        text = chance.run(bench.Settings(
            pathlib.Path(), scheduling.reserved,
            measure.Effort(seeds=1, requests=requests), seed_base=1))
        return [float(found) for found in re.findall(
            r'% +([0-9.]+) / [0-9.]+ % +[0-9.]+ to', text)]

    def test_more_requests_less_chance(self):
        few, many = self.errors(100), self.errors(1600)
        self.assertEqual(len(published.TABLE3) // 2, len(many))
        for one, other in zip(few, many, strict=True):
            self.assertLess(other, one / 2)
