# SPDX-License-Identifier: Apache-2.0

"""Tests the policy Workload, and where its hints go."""

import copy

import ddt
from oslotest import base

from tacker_rt.heat import carrier
from tacker_rt.userdata import inject
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples

NUMBERS = {'cpu.rt_runtime_us': '60000', 'cpu.rt_period_us': '100000'}
HINTS = {'cpu.vnf_type': 'II', 'cpu.app_class': 'io'}
SERVER = {'resources': {'VDU1': {'type': 'OS::Nova::Server'}}}


def policy(**properties):
    return {'workload': {'type': 'tacker_rt.policies.Workload',
                         'targets': ['VDU1'], 'properties': properties}}


GOOD = policy(vnf_type='II', app_class='io')


@ddt.ddt
class WorkloadTest(base.BaseTestCase):

    def examine(self, requirements=None, policies=(GOOD,), request=None,
                **sections):
        template = samples.sol001(requirements, policies=[*policies],
                                  **sections)
        vdus, found = descriptor.examine({'f': template}, request=request)
        return vdus['VDU1'], list(map(str, found))

    def test_alone(self):
        vdu, found = self.examine()
        self.assertEqual([], found)
        self.assertEqual((HINTS, {}, None, False), (
            vdu.workload, vdu.hints, vdu.source, vdu.in_flavor))

    def test_beside_a_reservation(self):
        vdu, found = self.examine(NUMBERS)
        self.assertEqual([], found)
        self.assertEqual({'cpu.rt_runtime_us': 60000,
                          'cpu.rt_period_us': 100000, **HINTS},
                         carrier.hints(vdu))

    def test_hints_whatever_carries_the_reservation(self):
        vdu, _ = self.examine(NUMBERS, request={'nfv': {'VDU': {
            'VDU1': {'cpu.rt_carrier': 'flavor'}}}})
        self.assertEqual(HINTS, carrier.hints(vdu))
        self.assertEqual({'hw:cpu.rt_runtime_us': 60000,
                          'hw:cpu.rt_period_us': 100000},
                         carrier.extra_specs(vdu))

    def test_input_with_a_default(self):
        vdu, found = self.examine(
            policies=[policy(vnf_type={'get_input': 'kind'})],
            inputs={'kind': {'type': 'string', 'default': 'nat'}})
        self.assertEqual(([], {'cpu.vnf_type': 'nat'}),
                         (found, vdu.workload))

    @ddt.data(
        (policy(app_class='disk'), "app_class='disk': it must be cpu, io or "
         'ultra-io; the nearest is io.'),
        (policy(vnf_type=5), "vnf_type=5: it must be 1 to 32 letters, "
         'digits, _, . or -; give for example 5.'),
        (policy(), 'the policy sets nothing; give vnf_type or app_class.'),
        (policy(vnf_typ='II'), "vnf_typ='II': the policy has no such key; "
         "did you "
         'mean vnf_type?'))
    @ddt.unpack
    def test_refused(self, bad, sentence):
        vdu, found = self.examine(policies=[bad])
        self.assertEqual({}, vdu.workload)
        self.assertIn(f'f: VDU VDU1: policy workload: {sentence}', found)

    def test_one_is_enough(self):
        other = {'other': GOOD['workload']}
        self.assertEqual(
            ['f: VDU VDU1: policy other: the policy workload also targets '
             'this VDU; keep one of the two policies.'],
            self.examine(policies=[GOOD, other])[1])

    def test_in_a_base_hot(self):
        vdu, _ = self.examine()
        template = copy.deepcopy(SERVER)
        served = inject.hints(template, {'VDU1': vdu})
        inject.check({'VDU1': vdu}, served, set())
        properties = template['resources']['VDU1']['properties']
        self.assertEqual({'scheduler_hints': HINTS}, properties)
        inject.as_patch(template)
        self.assertEqual(
            HINTS | dict.fromkeys(('cpu.rt_runtime_us', 'cpu.rt_period_us')),
            properties['scheduler_hints'])

    def test_without_its_server(self):
        vdu, _ = self.examine()
        error = self.assertRaises(
            descriptor.exception.InvalidVnfd, inject.check, {'VDU1': vdu},
            set(), set())
        self.assertIn('the base HOT has no OS::Nova::Server of this name',
                      str(error))
