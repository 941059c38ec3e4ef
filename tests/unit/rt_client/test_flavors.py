# SPDX-License-Identifier: Apache-2.0

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from rt_client import flavors
from tests.unit.rt_client import base


class FlavorTest(base.TestCase):

    def create(self, *words):
        return self.run_command(flavors.CreateFlavor, 'rt', *words)

    def test_create(self):
        _, row = self.create('--share', '0.25', '--vcpus', '2', '--ram',
                             '64', '--private')
        self.assertEqual(['new', 'rt', '2', '64', '0', '25000', '100000',
                          '0.250'], list(map(str, row)))
        made = self.compute.made['new']
        self.assertEqual({'hw:cpu.rt_runtime_us': '25000',
                          'hw:cpu.rt_period_us': '100000'}, made.specs)
        self.assertFalse(made.is_public)

    def test_a_runtime_is_rounded_up(self):
        _, row = self.create('--share', '0.333333', '--period-us', '1000')
        self.assertEqual(334, row[5])

    def test_amounts_for_unified_limits(self):
        self.create('--share', '0.25', '--vcpus', '2', '--unified-limits')
        self.assertEqual({'hw:cpu.rt_runtime_us': '25000',
                          'hw:cpu.rt_period_us': '100000',
                          'resources:CUSTOM_RT_BANDWIDTH': '500000',
                          'resources:CUSTOM_RT_SHARE': '250000'},
                         self.compute.made['new'].specs)

    def test_a_refused_extra_spec_leaves_no_flavor(self):
        self.compute.refused = sdk_exceptions.SDKException('no')
        with self.assertRaisesRegex(sdk_exceptions.SDKException, 'no'):
            self.create('--share', '0.25')
        self.assertEqual({}, self.compute.made)

    def test_a_bad_share_makes_no_request(self):
        for share in ('0', '1.5', 'x', '-1', '0.00000001'):
            with self.assertRaisesRegex(exceptions.CommandError,
                                        'is not a reservation: give a share '
                                        'above 0 and up to 1'):
                self.create(f'--share={share}')
        self.assertEqual({}, self.compute.made)
