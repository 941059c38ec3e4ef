# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.otlp and push; tests/functional/kernel has a receiver."""

import sys
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from nova_rt.rules import exception
from rt_monitor import exposition
from rt_monitor import otlp
from rt_monitor import push


class OtlpTest(unittest.TestCase):

    def prepare(self, **options):
        return push.prepare(push.PushOptions('http://127.0.0.1:9/', **options),
                            list)

    def test_what_is_missing(self):
        with self.assertRaisesRegex(
                exception.CannotMonitor, '/missing does not'):
            self.prepare(authority='/missing')
        with (mock.patch.dict(sys.modules, {
                'rt_monitor.otlp': None}),
              self.assertRaisesRegex(exception.CannotMonitor,
                                     r'nova-rt\[otlp\]')):
            self.prepare()

    def test_the_exporter_is_found_by_its_name(self):
        with mock.patch.object(otlp, 'OtlpExporter') as exporter:
            self.assertIs(exporter.return_value, self.prepare())

    def test_units(self):
        families = [exposition.Family(f'nova_rt_{name}', 'counter', 'X.')
                    for name in ('cpu_seconds_total', 'sent_bytes_total',
                                 'energy_joules_total', 'switches_total')]
        for family in families:
            family.add(1, {})
        [resource] = otlp.metrics(families, 0, 1).resource_metrics
        self.assertEqual(['s', 'By', 'J', '1'], [
            metric.unit for metric in resource.scope_metrics[0].metrics])

    @hypothesis.given(st.dictionaries(
        st.sampled_from('abcdef'), st.text(max_size=20).map(
            exposition.clean), max_size=4),
        st.one_of(st.integers(0, 1 << 64), st.floats(0, 1e15)))
    def test_any_sample_is_read_as_it_was_written(self, labels, value):
        family = exposition.Family('nova_rt_x', 'gauge', 'X.')
        family.add(value, labels)
        self.assertEqual([('', labels, value)], [*otlp.samples(family)])
