# SPDX-License-Identifier: Apache-2.0

"""The data that the documentation's tables are made from."""

import pathlib
import unittest

import ddt

from paper import fig6
from paper import fig7
from paper import measured
from paper import points
from paper import published
from paper import records
from paper import table3

PAGES = pathlib.Path(__file__).parents[3] / 'doc/source/experiments'
CURVES = {
    'table3': [points.curve((*table3.DENSE_US, *published.INTERVALS_US),
                            row.size, row.load, row.share)
               for row in published.TABLE3],
    'fig6': [points.curve(published.INTERVALS_US, fig6.SIZE, *plot)
             for plot in fig6.PLOTS],
    'fig7': [points.curve(fig7.INTERVALS_US, fig7.SIZE, fig7.LOAD, fig7.SHARE,
                          megabits) for megabits in fig7.BANDWIDTHS]}


@ddt.ddt
class PagesTest(unittest.TestCase):

    @ddt.data(('table3', 'table3'), ('fig6', 'table3'), ('fig7', 'fig7'))
    @ddt.unpack
    def test_data(self, page, file):
        """Ten runs count at each point, and intervals are no excuse."""
        data = records.Data(PAGES / f'{file}.csv').records
        for point in (point for curve in CURVES[page] for point in curve):
            found = measured.Measured(point, [
                run for run in data if run.point == point.name])
            self.assertGreaterEqual(len(found.counted), 10, point.name)
            self.assertTrue(all(map(measured.LIMITS.allow, found.counted)))
            for statistic in measured.STATISTICS:
                estimate = found.estimate(statistic)
                self.assertLess(estimate.half, estimate.value, point.name)
