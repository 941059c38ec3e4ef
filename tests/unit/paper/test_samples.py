# SPDX-License-Identifier: Apache-2.0

import csv
import math
import pathlib
import tempfile
import unittest

from paper import samples
from tests.unit.paper import base


class SamplesTest(unittest.TestCase):

    def test_responses(self):
        found = base.found([10, 20, 30, 40], [5, None, 7, 8])
        self.assertEqual(1, found.lost)
        self.assertEqual([5, 7, 8], found.responses_us().tolist())
        self.assertEqual([7, 8], found.responses_us(warm_up=1).tolist())

    def test_cpu(self):
        found = base.found([10, 20, 30], [5, 6, 7], used_us=[40, 10, 30])
        self.assertEqual(20, found.cpu_us())

    def test_no_reply(self):
        with self.assertRaisesRegex(samples.NoReplies, 'No reply to any'):
            base.found([10, 20], [None, None])

    def test_write(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'one.csv')
            base.found([10], [5]).write(path)
            with path.open() as file:
                row, = csv.DictReader(file)
        self.assertEqual(
            {'sent_ns': '10000', 'response_ns': '5000',
             'service_ns': '100000', 'size': '128', 'client': '0',
             'server_cpu_ns': '100000'}, row)


class EstimateTest(unittest.TestCase):

    def test_interval(self):
        # Student's t of 2 degrees of freedom is 4.303, s = 1.
        found = samples.estimate([1.0, 2.0, 3.0])
        self.assertEqual(2.0, found.value)
        self.assertAlmostEqual(4.303 / 3 ** 0.5, found.half, places=3)

    def test_many(self):
        found = samples.estimate([0.0, 2.0] * 500)
        self.assertAlmostEqual(1.96 / 1000 ** 0.5, found.half, places=3)

    def test_single(self):
        self.assertTrue(math.isnan(samples.estimate([1.0]).half))
