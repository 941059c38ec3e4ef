# SPDX-License-Identifier: Apache-2.0

"""A claim asks what Placement holds for the server."""

from nova import exception as nova_exception
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import report
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import refusals
from nova_rt.services import events
from tests.unit import base

CLAIM = claims.RTClaim(uuids.server, 0, reservation.Reservation(1000, 2000),
                       (0, 1))


class CheckAllocationTest(base.TestCase):

    def check(self, **resources):
        refusals.check_allocation(
            CLAIM, uuids.node, {uuids.node: {'resources': resources}})

    def refused(self, words, *args, **kwargs):
        tally = report.Tally()

        def count():
            with refusals.counted(tally, uuids.server):
                args[0](*args[1:], **kwargs)

        error = self.assertRaises(
            nova_exception.ComputeResourcesUnavailable, count)
        self.assertEqual({report.ALLOCATION: 1}, tally.refused)
        self.assertIn(f' server={uuids.server} by=compute reason=allocation '
                      f'detail="Placement has ', events.recent[-1])
        # A class of its own would not pass Nova's RPC.
        self.assertIs(nova_exception.ComputeResourcesUnavailable, type(error))
        self.assertIn(words, str(error))

    def test_both_classes(self):
        self.check(CUSTOM_RT_BANDWIDTH=1_000_000, CUSTOM_RT_SHARE=500_000,
                   VCPU=2)

    def test_the_class_that_is_short(self):
        for bandwidth, share, words in (
                (999_999, 500_000, 'allocated 999999 of CUSTOM_RT_BANDWIDTH '
                 'for the server, which needs 1000000;'),
                (1_000_000, 499_999, 'allocated 499999 of CUSTOM_RT_SHARE '
                 'for the server, which needs 500000;')):
            self.refused(words, self.check, CUSTOM_RT_BANDWIDTH=bandwidth,
                         CUSTOM_RT_SHARE=share)

    def test_none_of_one_class(self):
        self.refused('allocated 0 of CUSTOM_RT_SHARE', self.check,
                     CUSTOM_RT_BANDWIDTH=1_000_000)

    def test_a_refusal_of_nova_is_not_counted(self):
        tally, before = report.Tally(), [*events.recent]

        def nova_refuses():
            with refusals.counted(tally, uuids.server):
                raise nova_exception.ComputeResourcesUnavailable(reason='x')

        self.assertRaises(nova_exception.ComputeResourcesUnavailable,
                          nova_refuses)
        self.assertEqual((0, before),
                         (tally.refused.total(), [*events.recent]))

    def test_nothing_here(self):
        for allocations in (None, {}, {uuids.other: {'resources': {
                'CUSTOM_RT_BANDWIDTH': 1_000_000,
                'CUSTOM_RT_SHARE': 500_000}}}):
            self.refused('enable RTShareFilter on every nova-scheduler',
                         refusals.check_allocation, CLAIM, uuids.node,
                         allocations)
