# SPDX-License-Identifier: Apache-2.0

"""Tests which vCPUs of a VDU have the reservation."""

from tacker_rt import exception
from tacker_rt.heat import carrier
from tacker_rt.userdata import inject
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples
from tests.unit.tacker_rt.vnfd import test_descriptor

STRINGS = samples.hints('60000', '100000')


class MaskTest(test_descriptor.VnfdTest):

    def sol001(self, mask, vcpus=4, values=STRINGS):
        template = samples.sol001(values | {'cpu.rt_mask': mask})
        samples.properties(template)['virtual_cpu']['num_virtual_cpu'] = vcpus
        return template

    def test_a_flavor_is_made_for_it(self):
        for template in (self.sol001('^0'), samples.legacy(
                samples.hints(60_000, 100_000) | {'cpu.rt_mask': '^0'})):
            vdu = self.read(template)
            self.assertEqual(descriptor.Carrier.FLAVOR, vdu.carrier)
            self.assertEqual({'hw:cpu.rt_mask': '^0',
                              'hw:cpu.rt_runtime_us': 60_000,
                              'hw:cpu.rt_period_us': 100_000},
                             carrier.extra_specs(vdu))
            self.assertEqual({}, carrier.hints(vdu))

    def test_another_mask_is_another_flavor(self):
        """Heat replaces the server, which else would keep its flavor."""
        found = set()
        for mask in ('^0', '1-2', '1,3'):
            server = {'type': 'OS::Nova::Server', 'properties': {
                'flavor': {'get_param': ['nfv', 'VDU', 'VDU1',
                                         'computeFlavourId']}}}
            template = {'resources': {'VDU1': server}}
            inject.flavors(template, {'VDU1': self.read(self.sol001(mask))},
                           lambda name: {'vcpus': 4, 'ram': 1, 'disk': 1})
            found |= template['resources'].keys() - {'VDU1'}
        self.assertEqual({'VDU1_rt_60000_100000_not0',
                          'VDU1_rt_60000_100000_1-2',
                          'VDU1_rt_60000_100000_1_3'}, found)

    def test_the_request_may_name_the_carrier(self):
        vdu = self.read(self.sol001('^0'), request=self.request(
            carrier='both'))
        self.assertEqual(descriptor.Carrier.BOTH, vdu.carrier)
        self.refused(
            self.sol001('^0'), 'additionalParams: VDU VDU1: cpu.rt_carrier='
            "'hints': Nova reads the cpu.rt_mask of the VDU from a flavor "
            'only; use the carrier flavor.',
            request=self.request(carrier='hints'))

    def test_a_mask_that_makes_no_sense(self):
        for mask, vcpus, words in (
                ('0-3', 4, "='0-3': it names every vCPU of the flavor (4); "
                 'remove the key: without it the reservation is for every '
                 'vCPU.'),
                ('4', 4, "='4': the flavor has no vCPU 4: its vCPUs are 0-3; "
                 'name only vCPUs of the flavor.'),
                ('one', {'get_input': 'n'}, "='one': it is not a list of "
                 'vCPUs; give for example ^0 for every vCPU but the first '
                 'one, or 1-3.')):
            self.refused(self.sol001(mask, vcpus),
                         f'f: VDU VDU1: cpu.rt_mask{words}')

    def test_a_mask_without_a_reservation(self):
        self.refused(
            self.sol001('^0', values={}), "f: VDU VDU1: cpu.rt_mask='^0': the "
            'VDU has a mask but no reservation; give both '
            'cpu.rt_runtime_us and cpu.rt_period_us, or remove the key.')

    def test_a_flavor_of_the_cloud(self):
        template = self.sol001('^0')
        samples.node(template)['properties'] = {'flavor': 'rt1'}
        self.refused(
            template, "f: VDU VDU1: cpu.rt_mask='^0': the VDU names the "
            'flavor rt1, and Nova reads the mask from it; set '
            'hw:cpu.rt_mask in that flavor, and remove the key.')

    def test_the_number_of_vcpus_may_not_be_known(self):
        template = self.sol001('^0,3-5', {'get_input': 'count'})
        template['topology_template']['inputs'] = {'count': {
            'type': 'integer'}}
        self.assertEqual({'hw:cpu.rt_mask': '^0,3-5'},
                         self.read(template).extra_specs)

    def test_a_request_has_no_mask(self):
        error = self.assertRaises(
            exception.InvalidVnfd, self.read, samples.sol001(STRINGS),
            request=self.request(mask='^0'))
        self.assertIn('this key is not known here', str(error))
