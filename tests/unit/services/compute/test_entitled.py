# SPDX-License-Identifier: Apache-2.0

"""Tests what guests may have while Nova is at work."""

import types

from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import entitled
from tests.unit import base

OLD, NEW = (claims.RTClaim(uuids.server, move, reservation.Reservation(1, 2),
                           (move,)) for move in range(2))


class EntitledTest(base.TestCase):

    def check(self, held, settled, counted, host='here', task=None,
              starts=False):
        server = types.SimpleNamespace(
            host=host, task_state=task, deleted=False,
            migration_context=None)
        found = entitled.entitlements(
            {uuids.server: server}, 'here',
            [types.SimpleNamespace(identifier=claim.identifier)
             for claim in counted], starts)
        self.assertEqual(
            {uuids.server: entitled.Entitlement(held, settled)}, found)

    def test_left_to_itself(self):
        self.check((OLD,), True, [OLD])
        self.check((), True, [])

    def test_resized(self):
        self.check((OLD, NEW), False, [OLD, NEW], task='resize_migrating')

    def test_resized_when_nova_compute_ended(self):
        self.check((OLD, NEW), True, [OLD, NEW], task='resize_migrating',
                   starts=True)

    def test_brought_by_libvirt(self):
        self.check((NEW,), False, [NEW], host='there', task='migrating')

    def test_nothing_is_taken_while_nova_is_at_work(self):
        self.check((), False, [], task='rebooting')

    def test_a_claim_that_cannot_be_read(self):
        def unread(uuid):
            return types.SimpleNamespace(identifier=f'{uuid}/x')
        server = types.SimpleNamespace(
            host='here', task_state=None, deleted=False,
            migration_context=None)
        self.assertEqual({}, entitled.entitlements(
            {uuids.server: server}, 'here', [unread(uuids.server)], False))
        # Whose it is may be what cannot be read.
        self.assertEqual(
            {uuids.server: entitled.Entitlement((), False)},
            entitled.entitlements({uuids.server: server}, 'here',
                                  [unread(uuids.other)], False))
