# SPDX-License-Identifier: Apache-2.0

"""Tests types and classes of workloads, good and bad."""

import re

import ddt
import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import workload
from tests.unit import base as unit


@ddt.ddt
class WorkloadTest(base.BaseTestCase):

    def test_flavor_and_hints(self):
        specs = {'hw:cpu.vnf_type': 'II', 'hw:cpu.app_class': 'ultra-io'}
        self.assertEqual(
            workload.Workload('II', workload.AppClass.ULTRA_IO),
            workload.from_flavor_and_hints(specs))
        self.assertEqual(
            workload.Workload('nat', workload.AppClass.ULTRA_IO),
            workload.from_flavor_and_hints(specs, {'cpu.vnf_type': 'nat'}))

    def test_nothing_said(self):
        self.assertEqual(workload.NOTHING, workload.from_flavor_and_hints(
            {'hw:cpu_policy': 'shared'}, {'cpu.rt_runtime_us': 1}))

    @ddt.data(('ultra_io', 'ultra-io'), ('cpu-bound', 'cpu'), ('IO', 'io'),
              ('disk', 'io'), (7, None), (['x'], None), ('', None))
    @ddt.unpack
    def test_bad_class(self, value, near):
        error = self.assertRaises(
            exception.InvalidWorkload, workload.from_flavor_and_hints,
            {'hw:cpu.app_class': value})
        self.assertEqual(
            f'Invalid flavor extra spec hw:cpu.app_class={value!r}: it must '
            f'be cpu, io or ultra-io; '
            + (f'the nearest is {near}.' if near else
               'give the class that fits.'), str(error))

    @ddt.data(('dpi box', 'dpi-box'), ('', 'dpi'), ('x' * 33, 'x' * 32),
              (['I', 'II'], 'I-II'), ({}, 'dpi'), (True, None))
    @ddt.unpack
    def test_bad_type(self, value, near):
        error = self.assertRaises(
            exception.InvalidWorkload, workload.from_flavor_and_hints,
            {}, {'cpu.vnf_type': value})
        self.assertIn('Invalid scheduler hint cpu.vnf_type=', str(error))
        self.assertIn(f'give for example {near or "True"}.', str(error))

    def test_a_bad_flavor_is_bad_under_any_hint(self):
        self.assertRaises(
            exception.InvalidWorkload, workload.from_flavor_and_hints,
            {'hw:cpu.app_class': 'x'}, {'cpu.app_class': 'io'})

    @unit.PROPERTY
    @hypothesis.given(st.text(max_size=60))
    def test_what_is_advised_is_taken(self, value):
        try:
            self.assertEqual(value, workload.parse_type('x', 'k', value))
        except exception.InvalidWorkload as error:
            advised = re.search('give for example (.*)[.]$', str(error))[1]
            self.assertEqual(advised,
                             workload.parse_type('x', 'k', advised))
