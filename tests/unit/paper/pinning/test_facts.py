# SPDX-License-Identifier: Apache-2.0

"""The numbers about pinned and reserved work are those of the data."""

import types
import unittest

from paper.pinning import facts
from paper.pinning import records
from paper.pinning import ways
from paper.pinning import workloads


class FactsTest(unittest.TestCase):

    def test_times_are_parts_of_vanilla(self):
        runs = [records.Record(work, way, wall_s, cpu_s, load_average=load)
                for work in workloads.WORKLOADS
                for way, wall_s in zip(ways.WAYS, (4.0, 5.0, 3.0),
                                       strict=True)
                for cpu_s, load in ((2.0, 7.6), (3.0, 1.0))]
        found = dict(facts.named(types.SimpleNamespace(
            records=runs, select=lambda work, way: [
                run for run in runs
                if (run.workload, run.way) == (work, way)])))
        self.assertEqual('0.75', found['pinning.apache.reserved.time'])
        self.assertEqual('1.00', found['pinning.apache.reserved.cpu'])
        self.assertEqual('0.40 to 0.60', found['pinning.apache.pinned.cpus'])
        self.assertEqual('8', found['pinning.load-most'])
