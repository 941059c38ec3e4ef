# SPDX-License-Identifier: Apache-2.0

"""Tests that hints are with the instance before it is built."""

import fixtures
from nova.compute import manager as nova_manager

from nova_rt.services.compute import manager
from nova_rt.services.compute import request
from tests.unit import base


class RTComputeManagerTest(base.TestCase):

    def build(self, server, spec):
        """Returns what Nova's build saw: the hints and further arguments."""
        seen = []

        def nova_build(_, ctxt, instance, image, request_spec, *args, **kw):
            seen.extend([request.hints_of(instance), args, kw])
        self.useFixture(fixtures.MockPatchObject(
            nova_manager.ComputeManager, 'build_and_run_instance',
            nova_build))
        ours = object.__new__(manager.RTComputeManager)
        ours.build_and_run_instance(
            None, server, 'image', spec, 'more', node='n')
        return seen

    def test_hints(self):
        spec = base.request_spec({}, base.hints(1000, 2000))
        self.assertEqual(
            [{'cpu.rt_runtime_us': '1000', 'cpu.rt_period_us': '2000'},
             ('more',), {'node': 'n'}],
            self.build(base.instance(), spec))

    def test_no_request_spec(self):
        self.assertEqual([{}, ('more',), {'node': 'n'}],
                         self.build(base.instance(), None))

    def test_hints_of_an_old_server_are_unset(self):
        spec = base.request_spec({})
        del spec._obj_scheduler_hints
        self.assertEqual({}, self.build(base.instance(), spec)[0])
