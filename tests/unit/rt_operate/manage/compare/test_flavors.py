# SPDX-License-Identifier: Apache-2.0

import ddt

from nova_rt.rules import reservation
from rt_operate.manage.compare import flavors
from rt_operate.manage import snapshot
from tests.unit import base

RUNTIME, PERIOD = 'hw:cpu.rt_runtime_us', 'hw:cpu.rt_period_us'
GOOD = {RUNTIME: '100000', PERIOD: '200000'}


@ddt.ddt
class SuspectsTest(base.TestCase):

    def found(self, specs, name='m1.small', **limits):
        return [str(each) for each in flavors.suspects(
            [snapshot.Flavor(name, specs)], reservation.Limits(**limits))]

    def assert_found(self, text, *arguments, **limits):
        (sentence,) = self.found(*arguments, **limits)
        self.assertIn(text, sentence)

    def test_ordinary_and_reserved(self):
        self.assertEqual([], self.found({}))
        self.assertEqual([], self.found(GOOD, 'flavor_rt1'))

    def test_half_a_pair(self):
        self.assertEqual(
            ['flavor m1.small: it has hw:cpu.rt_runtime_us but not '
             'hw:cpu.rt_period_us; to do: set both keys with openstack '
             'flavor set, or remove the key'], self.found({RUNTIME: '1000'}))
        self.assert_found(f'it has {PERIOD} but not {RUNTIME}',
                          {PERIOD: '1000'}, 'rt1')

    def test_half_a_pair_that_a_hint_completes(self):
        for share, count in (('0.5', 0), ('1', 0), ('0', 1), ('x', 1)):
            self.assertEqual(count, len(self.found(
                {PERIOD: '1000', reservation.HINT_SHARE_KEY: share})))

    def test_what_nova_would_refuse_today(self):
        self.assert_found('more than the period', GOOD | {RUNTIME: '300000'})
        self.assert_found('whole number', GOOD | {RUNTIME: 'abc'})
        self.assert_found('above the maximum of 0.400000', GOOD,
                          max_bandwidth=400_000)
        self.assert_found('hw:cpu_policy', GOOD | {
            'hw:cpu_policy': 'dedicated'})

    def test_a_mask(self):
        for specs, words in (
                (GOOD, 'every vCPU of the flavor (1)'),
                ({}, 'it has hw:cpu.rt_mask but reserves nothing; to do: also '
                     'set hw:cpu.rt_runtime_us')):
            self.assert_found(words, specs | {'hw:cpu.rt_mask': '0'})

    def test_a_kind_of_reservation(self):
        for specs, words in (
                (GOOD, 'it is not one of hard, soft'),
                ({}, 'it has hw:cpu.rt_reservation but reserves nothing')):
            self.assert_found(words, specs | {
                'hw:cpu.rt_reservation': 'fair'})

    @ddt.data('cpu.rt_runtime_us', 'hw:cpu.rt_runtime', 'hw:cpu_rt_period_us',
              'HW:CPU.RT_RUNTIME_US')
    def test_a_key_that_nobody_reads(self, key):
        self.assert_found(f'it has {key}, which no service reads',
                          {key: '1000'})

    def test_a_host_is_asked_for_and_nothing_of_it(self):
        for key in ('trait:CUSTOM_HCBS', 'trait1:CUSTOM_HCBS',
                    'trait:CUSTOM_SCHED_DEADLINE_PINNED',
                    'resources:CUSTOM_RT_BANDWIDTH'):
            self.assert_found(f'it has {key} but reserves nothing',
                              {key: 'required'})
            self.assertEqual([], self.found(GOOD | {key: 'required'}))
        self.assertEqual([], self.found({'trait:CUSTOM_HCBS': 'forbidden'}))

    @ddt.data('flavor_rt1', 'rt-5397-10000', 'RT.small', 'm1-rt', 'rt',
              'realtime', 'm1.real-time')
    def test_a_name_that_says_it(self, name):
        self.assert_found('its name suggests a reservation', {}, name)
        # Dedicated and real-time vCPUs of Nova are no reservation.
        self.assertEqual([], self.found({'hw:cpu_realtime': 'yes'}, name))
        # It takes the reservations of its servers' hints.
        self.assertEqual([], self.found(
            {reservation.HINT_SHARE_KEY: '0.5'}, name))

    @ddt.data('m1.large', 'art', 'mart.2', 'support', 'start-1', 'rtx4000')
    def test_a_name_that_does_not(self, name):
        self.assertEqual([], self.found({}, name))
