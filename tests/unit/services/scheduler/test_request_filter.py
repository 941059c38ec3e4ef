# SPDX-License-Identifier: Apache-2.0

"""Tests what Placement is asked for."""

import logging

import fixtures
from nova import context
from nova import exception as nova_exception
from nova.scheduler import request_filter as nova_request_filter
from nova.scheduler import utils

from nova_rt.rules import hostmap
from nova_rt.services.scheduler import request_filter
from tests.unit import base


class RequestFilterTest(base.TestCase):

    def ask(self, spec):
        return request_filter.require_rt_bandwidth(
            context.get_admin_context(), spec)

    def test_bandwidth_of_all_vcpus_share_of_one_and_the_trait(self):
        spec = base.request_spec(base.extra_specs(1000, 3000), vcpus=3)
        self.assertTrue(self.ask(spec))
        self.assertEqual(
            base.extra_specs(1000, 3000) | {
                'resources:CUSTOM_RT_BANDWIDTH': '1000002',
                'resources:CUSTOM_RT_SHARE': '333334',
                'trait:CUSTOM_HCBS': 'required'},
            spec.flavor.extra_specs)

    def test_only_the_vcpus_that_a_mask_names(self):
        masked = base.extra_specs(1000, 2000) | {'hw:cpu.rt_mask': '^0'}
        spec = base.request_spec(masked, vcpus=4)
        self.assertTrue(self.ask(spec))
        self.assertEqual(('1500000', '500000'), tuple(
            spec.flavor.extra_specs[f'resources:{name}']
            for name in hostmap.CLASSES))

    def test_a_mask_that_makes_no_sense(self):
        for mask, words in (('^0-3', 'leaves no vCPU'),
                            ('0-3', 'every vCPU'), ('4', 'no vCPU 4')):
            spec = base.request_spec(base.extra_specs(1000, 2000) | {
                'hw:cpu.rt_mask': mask}, vcpus=4)
            error = self.assertRaises(nova_exception.RequestFilterFailed,
                                      self.ask, spec)
            self.assertIn(words, str(error))
        spec = base.request_spec({'hw:cpu.rt_mask': '^0'}, vcpus=4)
        error = self.assertRaises(nova_exception.RequestFilterFailed,
                                  self.ask, spec)
        self.assertIn('ask for no reservation', str(error))

    def test_nova_understands_it(self):
        spec = base.request_spec(base.extra_specs(1000, 2000), vcpus=2)
        self.ask(spec)
        wanted = utils.ResourceRequest.from_request_spec(spec)
        group = wanted.get_request_group(None)
        self.assertEqual((1_000_000, 500_000), (
            group.resources['CUSTOM_RT_BANDWIDTH'],
            group.resources['CUSTOM_RT_SHARE']))
        self.assertEqual({'CUSTOM_HCBS'}, group.required_traits)

    def test_stored_flavor_is_left_alone(self):
        specs = base.extra_specs(1000, 2000)
        spec = base.request_spec(specs)
        shared = spec.flavor.extra_specs
        self.ask(spec)
        self.assertNotIn('trait:CUSTOM_HCBS', shared)

    def test_amounts_follow_the_hint_and_not_the_operator(self):
        self.config(hint_override='any')
        names = [f'resources:{name}' for name in hostmap.CLASSES]
        spec = base.request_spec(
            base.extra_specs(1000, 2000) | dict.fromkeys(names, '1'),
            base.hints(runtime=1500), vcpus=2)
        self.ask(spec)
        self.assertEqual(
            ['1500000', '750000'],
            [spec.flavor.extra_specs[name] for name in names])

    def test_hints_give_way_to_what_was_decided(self):
        spec = base.request_spec(base.extra_specs(1000, 2000),
                                 base.hints(runtime=500))
        self.ask(spec)
        self.assertEqual({}, spec.scheduler_hints)
        self.assertEqual('500', spec.flavor.extra_specs[
            'hw:cpu.rt_runtime_us'])

    def test_operator_is_told_what_is_asked(self):
        logged = self.useFixture(fixtures.FakeLogger())
        self.ask(base.request_spec(base.extra_specs(1000, 2000), vcpus=2))
        self.assertIn(
            'hosts need 1000000 free CUSTOM_RT_BANDWIDTH, 500000 free '
            'CUSTOM_RT_SHARE and the trait CUSTOM_HCBS.', logged.output)

    def test_a_soft_reservation(self):
        spec = base.request_spec(base.extra_specs(1000, 2000) | {
            'hw:cpu.rt_reservation': 'soft'})
        self.assertTrue(self.ask(spec))
        self.assertEqual('required', spec.flavor.extra_specs[
            'trait:CUSTOM_RT_SOFT'])
        plain = base.request_spec(base.extra_specs(1000, 2000))
        self.assertTrue(self.ask(plain))
        self.assertNotIn('trait:CUSTOM_RT_SOFT', plain.flavor.extra_specs)

    def test_nothing_asked(self):
        spec = base.request_spec({'hw:x': 'y'})
        self.assertFalse(self.ask(spec))
        self.assertEqual({'hw:x': 'y'}, spec.flavor.extra_specs)

    def test_nonsense_has_the_reason(self):
        spec = base.request_spec(
            base.extra_specs(1000, 2000), base.hints(runtime='abc'))
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        error = self.assertRaises(
            nova_exception.RequestFilterFailed, self.ask, spec)
        self.assertIn("cpu.rt_runtime_us='abc'", str(error))
        self.assertIn('CPU reservation refused: Invalid', log.output)

    def test_it_is_the_first(self):
        self.useFixture(fixtures.MockPatchObject(
            nova_request_filter, 'ALL_REQUEST_FILTERS', [None]))
        request_filter.install()
        self.assertEqual([request_filter.require_rt_bandwidth, None],
                         nova_request_filter.ALL_REQUEST_FILTERS)

    def test_installed_once_and_run_by_nova(self):
        self.useFixture(fixtures.MockPatchObject(
            nova_request_filter, 'ALL_REQUEST_FILTERS', []))
        request_filter.install()
        request_filter.install()
        spec = base.request_spec(base.extra_specs(1000, 2000))
        nova_request_filter.process_reqspec(
            context.get_admin_context(), spec)
        self.assertEqual([request_filter.require_rt_bandwidth],
                         nova_request_filter.ALL_REQUEST_FILTERS)
        self.assertIn('trait:CUSTOM_HCBS', spec.flavor.extra_specs)
