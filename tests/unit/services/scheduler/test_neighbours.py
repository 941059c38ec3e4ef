# SPDX-License-Identifier: Apache-2.0

"""Tests the workload that a RequestSpec names."""

from nova_rt.rules import neighbours as rt_neighbours
from nova_rt.rules import workload
from nova_rt.services.scheduler import neighbours
from tests.unit import base

TYPED = {'hw:cpu.vnf_type': 'II', 'hw:cpu.app_class': 'cpu'}


class NeighboursTest(base.TestCase):

    def test_workload(self):
        spec = base.request_spec(TYPED, {'cpu.app_class': ['io']})
        self.assertEqual(
            workload.Workload('II', workload.AppClass.IO),
            neighbours.workload_of(spec))

    def test_nothing(self):
        for specs, hints in (({}, {}), (TYPED | {'hw:cpu.app_class': 'x'},
                                        {}), ({}, {'cpu.vnf_type': ['?']})):
            self.assertEqual(workload.NOTHING, neighbours.workload_of(
                base.request_spec(specs, hints)))

    def test_placed(self):
        self.assertEqual(
            (rt_neighbours.Typed(rt_neighbours.Kind.SHARED, 'II'), 0),
            neighbours.placed(base.request_spec(TYPED)))
        self.assertEqual(
            (rt_neighbours.Typed(rt_neighbours.Kind.RESERVED, 'II'),
             1_000_000),
            neighbours.placed(base.request_spec(
                TYPED | base.extra_specs(500, 1000), vcpus=2)))
