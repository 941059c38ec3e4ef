# SPDX-License-Identifier: Apache-2.0

"""Tests what a server asks for, from its instance."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import request
from tests.unit import base

SPECS = base.extra_specs(100_000, 200_000)


class RequestTest(base.TestCase):

    def claimed(self, **hints):
        claim = claims.RTClaim(
            uuids.server, 0, reservation.Reservation(1, 2), (0,),
            {f'cpu.rt_{key}_us': value for key, value in hints.items()})
        return [claim.to_resource(uuids.node)]

    def test_flavor(self):
        self.assertEqual(reservation.Reservation(100_000, 200_000),
                         request.reservation_of(base.instance(SPECS)))

    def test_no_reservation(self):
        self.assertIsNone(request.reservation_of(base.instance()))

    def test_noted_hint_wins(self):
        server = base.instance(SPECS)
        request.note_hints(server, base.hints(runtime=50_000)
                           | {'group': ['g']})
        self.assertEqual({'cpu.rt_runtime_us': '50000'},
                         request.hints_of(server))
        self.assertEqual(reservation.Reservation(50_000, 200_000),
                         request.reservation_of(server))

    def test_nothing_to_note(self):
        for hints in (None, {}, {'group': ['g']}):
            server = base.instance(SPECS)
            request.note_hints(server, hints)
            self.assertEqual({}, server.system_metadata)
            self.assertEqual({}, request.hints_of(server))

    def test_note_fits_the_column(self):
        server = base.instance()
        request.note_hints(server, base.hints('9' * 18, '9' * 18))
        self.assertLess(
            len(server.system_metadata[request.HINTS_KEY]), 256)

    def test_hints_of_the_claim_outlive_the_note(self):
        server = base.instance(SPECS, resources=self.claimed(runtime=70_000))
        self.assertEqual(reservation.Reservation(70_000, 200_000),
                         request.reservation_of(server))

    def test_resize_takes_the_new_flavor_and_the_hint(self):
        server = base.instance(SPECS, resources=self.claimed(runtime=70_000))
        new = base.flavor(base.extra_specs(300_000, 400_000), number=2)
        self.assertEqual(reservation.Reservation(70_000, 400_000),
                         request.reservation_of(server, new))

    def test_admitted_under_older_limits(self):
        self.config(max_share=0.1, hint_override='none')
        server = base.instance(SPECS)
        request.note_hints(server, base.hints(runtime=150_000))
        self.assertEqual(reservation.Reservation(150_000, 200_000),
                         request.reservation_of(server))

    def test_note_of_another_version(self):
        server = base.instance(SPECS)
        for note in ('{', '7', '[1]', '["x"]'):
            server.system_metadata[request.HINTS_KEY] = note
            error = self.assertRaises(exception.InvalidReservation,
                                      request.reservation_of, server)
            self.assertIn(f'nova_rt_hint={note}: ', str(error))

    def test_hint_of_another_version(self):
        server = base.instance(SPECS)
        server.system_metadata[request.HINTS_KEY] = (
            '{"cpu.rt_deadline_us": "7"}')
        self.assertRaises(exception.InvalidReservation,
                          request.reservation_of, server)


class AdmittedTest(base.TestCase):
    """Tests what a claim is refused for, and when."""

    def setUp(self):
        super().setUp()
        self.claim = claims.RTClaim(
            uuids.server, 0, reservation.Reservation(100_000, 200_000), (0,))

    def conflicting(self, **kwargs):
        yield base.instance(SPECS | {'hw:cpu_policy': 'dedicated'}, **kwargs)
        yield base.instance(SPECS, image_hw_cpu_policy='dedicated', **kwargs)

    def test_a_new_server(self):
        for server in self.conflicting():
            self.assertRaises(exception.InvalidReservation,
                              request.admitted, server)
            self.assertIsNotNone(request.reservation_of(server))
        self.assertIsNone(request.admitted(
            base.instance(image_hw_cpu_policy='dedicated')))

    def test_a_server_that_holds_a_claim(self):
        for server in self.conflicting(
                resources=[self.claim.to_resource(uuids.node)]):
            self.assertIsNotNone(request.admitted(server))
            self.assertIsNotNone(request.admitted(server, server.flavor))

    def test_a_move_to_another_cell(self):
        """The new cell has no claim of the server."""
        for server in self.conflicting():
            self.assertIsNotNone(request.admitted(
                server, server.flavor, moves=True))

    def test_another_flavor(self):
        server = base.instance(
            SPECS, resources=[self.claim.to_resource(uuids.node)])
        for moves in (False, True):
            self.assertRaises(
                exception.InvalidReservation, request.admitted, server,
                base.flavor(SPECS | {'hw:pmem': '6GB'}, number=2), moves)


class ResizeTest(base.TestCase):
    """Tests what becomes of the hints with other flavors."""

    def setUp(self):
        super().setUp()
        self.server = base.instance()
        request.note_hints(self.server, base.hints(5000, 10_000))
        self.reserved = base.flavor(SPECS, number=2)
        self.plain = base.flavor(number=3)

    def resize(self, flavor):
        request.note_left(self.server, flavor)
        self.server.flavor = flavor

    def test_they_go_along(self):
        self.resize(self.reserved)
        self.assertEqual(reservation.Reservation(5000, 10_000),
                         request.reservation_of(self.server))

    def test_they_are_left_behind(self):
        self.assertIsNone(request.reservation_of(self.server, self.plain))
        self.resize(self.plain)
        self.assertIsNone(request.reservation_of(self.server))
        self.resize(self.reserved)
        self.assertEqual(reservation.Reservation(100_000, 200_000),
                         request.reservation_of(self.server))
        self.assertNotIn(request.LEFT_KEY, self.server.system_metadata)

    def test_a_revert_brings_them_back(self):
        old = self.server.flavor
        self.resize(self.plain)
        self.server.flavor = old
        self.assertIsNotNone(request.reservation_of(self.server))

    def test_the_second_resize_takes_them_along(self):
        old = self.server.flavor
        self.resize(self.plain)
        self.server.flavor = old
        self.config(hints_on_plain_flavors=True)
        self.resize(self.plain)
        self.assertIsNotNone(request.reservation_of(self.server))

    def test_half_a_reservation_is_left_behind(self):
        self.config(hints_on_plain_flavors=True)
        server = base.instance(SPECS)
        request.note_hints(server, base.hints(runtime=5000))
        self.assertIsNone(request.reservation_of(server, self.plain))

    def test_a_move_changes_nothing(self):
        request.note_left(self.server, self.server.flavor)
        request.note_left(self.server, None)
        self.assertEqual({request.HINTS_KEY},
                         self.server.system_metadata.keys())
        self.assertIsNotNone(request.reservation_of(
            self.server, self.server.flavor))
