# SPDX-License-Identifier: Apache-2.0

"""Tests for which servers too little is allocated."""

from unittest import mock

from keystoneauth1 import exceptions as ks_exceptions
from nova import exception
from nova.scheduler.client import report
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import allocations
from nova_rt.services.compute import claims
from tests.unit import base


class PaidTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.claim = claims.RTClaim(
            uuids.server, 0, reservation.Reservation(10, 100), (0, 1))
        self.needs = hostmap.amounts(2, 100_000)

    def missing(self, **resources):
        return [*allocations.missing([self.claim], {
            uuids.server: {'resources': resources}})]

    def test_all_is_there(self):
        self.assertEqual([], self.missing(**self.needs))
        self.assertEqual([], self.missing(VCPU=1, **self.needs))

    def test_less_is_there(self):
        self.assertEqual([uuids.server], self.missing(VCPU=2))
        for name in hostmap.CLASSES:
            self.assertEqual([uuids.server], self.missing(
                **self.needs | {name: self.needs[name] - 1}))
        self.assertEqual([uuids.server],
                         [*allocations.missing([self.claim], {})])

    def test_placement(self):
        client = mock.Mock(spec=report.SchedulerReportClient)
        ask = client.get_allocations_for_resource_provider
        ask.return_value = report.ProviderAllocInfo(allocations={'a': 1})
        self.assertEqual({'a': 1}, allocations.by_consumer(client, None, 'p'))
        for error in (
                ks_exceptions.ConnectFailure('gone'),
                exception.ResourceProviderAllocationRetrievalFailed(
                    rp_uuid='p', error='no')):
            ask.side_effect = error
            self.assertIsNone(allocations.by_consumer(client, None, 'p'))
