# SPDX-License-Identifier: Apache-2.0

"""Tests whether the reservation of a VDU is hard or soft."""

from tacker_rt.heat import carrier
from tacker_rt.userdata import inject
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples
from tests.unit.tacker_rt.vnfd import test_descriptor

STRINGS = samples.hints('60000', '100000')
KIND = {'cpu.rt_reservation': 'soft'}


class KindTest(test_descriptor.VnfdTest):

    def test_a_flavor_is_made_for_it(self):
        for template in (samples.sol001(STRINGS | KIND), samples.legacy(
                samples.hints(60_000, 100_000) | KIND)):
            vdu = self.read(template)
            self.assertEqual(descriptor.Carrier.FLAVOR, vdu.carrier)
            self.assertEqual({'hw:cpu.rt_reservation': 'soft',
                              'hw:cpu.rt_runtime_us': 60_000,
                              'hw:cpu.rt_period_us': 100_000},
                             carrier.extra_specs(vdu))

    def test_another_kind_is_another_flavor(self):
        server = {'type': 'OS::Nova::Server', 'properties': {
            'flavor': {'get_param': ['nfv', 'VDU', 'VDU1',
                                     'computeFlavourId']}}}
        template = {'resources': {'VDU1': server}}
        inject.flavors(template, {'VDU1': self.read(samples.sol001(
            STRINGS | KIND))}, lambda name: {'vcpus': 1, 'ram': 1, 'disk': 1})
        self.assertIn('VDU1_rt_60000_100000_soft', template['resources'])

    def test_what_makes_no_sense(self):
        self.refused(
            samples.sol001(STRINGS | {'cpu.rt_reservation': 'fair'}),
            "f: VDU VDU1: cpu.rt_reservation='fair': it is not one of hard, "
            'soft; give soft for servers that may use more than their '
            'runtime, or hard for servers that may not.')
        self.refused(
            samples.sol001(KIND), "f: VDU VDU1: cpu.rt_reservation='soft': "
            'the VDU has a kind of reservation but no reservation; give both '
            'cpu.rt_runtime_us and cpu.rt_period_us, or remove the key.')
