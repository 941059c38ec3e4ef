# SPDX-License-Identifier: Apache-2.0

"""The numbers about rt-probe are those of its data."""

import contextlib
import io
import pathlib

import fixtures
from oslotest import base

from paper.probe import facts
from paper.probe import records


class FactsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        data = records.Data(pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'probe.csv'))
        with contextlib.redirect_stdout(io.StringIO()):
            for one in (
                    records.Record('throttled', 'a', 0.51, 0.5),
                    records.Record('throttled', 'b', 0.44, 0.4),
                    records.Record('load-passive', '#1', 0.0004),
                    records.Record('load-passive', '#2', 0.0006),
                    records.Record('halved', 'quota #1', 0.5),
                    records.Record('halved', 'quota #2', 0.75),
                    records.Record('halved', 'rt-group #1', 0.2),
                    records.Record('halved', 'rt-group #2', 0.3),
                    records.Record('latency', 'without #1', 3000, lower=1000),
                    records.Record('latency', 'without #2', 5000, lower=1000),
                    records.Record('latency', 'passive #1', 4400, lower=1010),
                    records.Record('latency', 'passive #2', 4400, lower=1010),
                    records.Record('latency', 'bursts #1', 5000, lower=1020),
                    records.Record('latency', 'bursts #2', 5000, lower=1020)):
                data.add(one)
        self.found = dict(facts.named(data))

    def test_the_worst_cell_is_named(self):
        self.assertEqual(('1', 'b', '0.4400', '0.4000'), tuple(
            self.found[f'probe.throttled.{name}'] for name in (
                'off', 'worst.cell', 'worst.value', 'worst.truth')))

    def test_a_span_has_both_ends(self):
        self.assertEqual('0.040 to 0.060 %',
                         self.found['probe.load-passive.span'])
        self.assertEqual('0.50 to 0.75 s', self.found['probe.halved.quota'])
        self.assertEqual('0.20 to 0.30 s',
                         self.found['probe.halved.rt-group'])

    def test_a_way_is_compared_with_no_probe(self):
        self.assertEqual(('2 %', '10 %', '25 %'), tuple(
            self.found[f'latency.{name}'] for name in (
                'mean', 'passive.p99', 'bursts.p99')))
        self.assertTrue(self.found['latency.noise'].startswith('0 to '))
