# SPDX-License-Identifier: Apache-2.0

"""Tests that a target for response times becomes a runtime."""

from oslotest import base

from nova_rt.rules import reservation
from rt_models.model import contended
from rt_models.model import load
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples

PROPERTIES = {'target_us': 10_000, 'service_rate_hz': 1_000,
              'arrival_rate_hz': 200, 'network_delay_us': 180,
              'period_us': 10_000}


class ResponseTimeTest(base.BaseTestCase):

    def examine(self, inputs=None, **changes):
        properties = {**PROPERTIES, **changes}
        template = samples.sol001(
            policies=[samples.policy(properties, 'ResponseTime')],
            inputs=inputs or {})
        vdus, found = descriptor.examine({'f': template})
        return vdus['VDU1'], [str(one) for one in found]

    def test_example(self):
        """A share of 0.802: ln(100) / (9.64 - 1.984) ms and 200 Hz."""
        vdu, found = self.examine()
        self.assertEqual([], found)
        self.assertEqual(samples.hints(8_016, 10_000), vdu.hints)
        self.assertEqual(descriptor.Source.POLICY, vdu.source)

    def test_it_is_the_smallest_that_meets_the_target(self):
        vdu, _ = self.examine(percentile=0.9)
        for less, meets in ((0, True), (1, False)):
            time_us = contended.predict(
                load.Load(200, 1_000), reservation.Reservation(
                    vdu.reservation.runtime_us - less, 10_000),
                load.Network(180)).percentile_us(0.9)
            self.assertEqual(meets, time_us <= 10_000)

    def test_the_share_leaves_room(self):
        """Requests keep at most 98 % of the share busy, for any target."""
        vdu, _ = self.examine(target_us=10 ** 8, network_delay_us=0)
        self.assertEqual(samples.hints(2_041, 10_000), vdu.hints)

    def test_from_inputs(self):
        vdu, found = self.examine(
            inputs={'p': {'default': 20_000}}, period_us={'get_input': 'p'})
        self.assertEqual([], found)
        self.assertEqual(samples.hints(17_291, 20_000), vdu.hints)

    def test_input_without_a_value(self):
        for key in ('period_us', 'target_us'):
            vdu, found = self.examine(inputs={'p': {}},
                                      **{key: {'get_input': 'p'}})
            self.assertEqual(
                [f"f: VDU VDU1: policy reserved: {key}={{'get_input': 'p'}}: "
                 'the input has no value; give the input a default.'], found)
            self.assertEqual({}, vdu.hints)

    def test_carrier(self):
        self.assertEqual(
            ["f: VDU VDU1: policy reserved: carrier='both': the carrier "
             'depends on the cloud, not on the VNF; remove the key, and give '
             'cpu.rt_carrier in additionalParams of the request.'],
            self.examine(carrier='both')[1])

    def test_every_problem(self):
        _, found = self.examine(target_us=-1, percentile='x', max_share=2,
                                period_us=0, carrier='x', more=1)
        self.assertEqual(6, len(found), found)

    def test_numbers_out_of_reach(self):
        for value in (10 ** 400, 1e300, 1e-300, float('inf')):
            _, found = self.examine(arrival_rate_hz=value)
            self.assertEqual(1, len(found))
            self.assertIn('the value must lie between 1e-09 and '
                          '1e+12', found[0])
        self.assertIn('lie between',
                      self.examine(target_us=float('nan'))[1][0])
