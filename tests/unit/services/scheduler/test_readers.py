# SPDX-License-Identifier: Apache-2.0

"""Tests which hosts a server with a masked claim may be resized to."""

import dataclasses
from unittest import mock

from nova import objects

from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.scheduler import host_state
from nova_rt.services.scheduler import readers
from tests.unit import base

_UUID = 'f70a4f8c-93b4-41c8-9430-162f44417eb0'
_NAMES = ('older', 'masks', 'without', 'plain')


class ReadersTest(base.TestCase):
    """Hosts of an older and of this version, and one without nova-rt."""

    def hosts(self):
        older = base.host_map([0, 0])
        maps = (older,
                dataclasses.replace(older, takes=frozenset(('mask',))),
                dataclasses.replace(older, reason='no kernel'), None)
        return [base.host_state(published, host_state.RTHostState, name)
                for published, name in zip(maps, _NAMES, strict=True)]

    def able(self, *unreserved, ignore=(), hints=None):
        """The hosts for a server whose claim leaves these vCPUs out."""
        claim = claims.RTClaim(_UUID, 0, reservation.Reservation(1000, 2000),
                               (1,), unreserved=unreserved)
        server = mock.Mock(resources=objects.ResourceList(
            objects=[claim.to_resource(_UUID)]))
        spec = base.request_spec(None, hints)
        spec.ignore_hosts = ignore
        with mock.patch('nova_rt.services.servers.find',
                        return_value=server):
            readers.note(spec)
        return [host.host for host in readers.able(self.hosts(), spec)]

    def test_a_claim_with_a_mask(self):
        self.assertEqual(list(_NAMES[1:]), self.able(0))

    def test_a_claim_without_a_mask(self):
        self.assertEqual(list(_NAMES), self.able())

    def test_not_a_resize(self):
        self.assertEqual(list(_NAMES), self.able(0, ignore=None))

    def test_a_hint_of_a_tenant(self):
        for ignore in (None, []):
            self.assertEqual(list(_NAMES), self.able(
                ignore=ignore, hints={'_nova_rt_masked': ['yes']}))
