# SPDX-License-Identifier: Apache-2.0

"""Tests the reservation in a RequestSpec."""

from unittest import mock

import fixtures
from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids
import testtools

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.scheduler import request
from nova_rt.services import servers
from tests.unit import base

SPECS = base.extra_specs(100_000, 200_000)


class RequestTest(base.TestCase):

    def test_no_reservation(self):
        spec = base.request_spec({'hw:cpu_policy': 'dedicated'},
                                 {'group': ['g']})
        self.assertFalse(request.asks(spec))
        self.assertIsNone(request.reservation_of(spec))

    def test_each_source_asks(self):
        for specs, hints in ((SPECS, {}),
                             ({}, base.hints(5000, 10_000)),
                             ({'hw:cpu.rt_period_us': '1000'}, {}),
                             ({}, {'cpu.rt_budget': ['1']})):
            self.assertTrue(
                request.asks(base.request_spec(specs, hints)))

    def test_hint_as_stored_wins(self):
        spec = base.request_spec(SPECS, base.hints(runtime=50_000))
        self.assertEqual(reservation.Reservation(50_000, 200_000),
                         request.reservation_of(spec))

    def test_old_server_without_hints_or_image(self):
        spec = base.request_spec(SPECS)
        del spec._obj_scheduler_hints
        spec.image = None
        self.assertEqual(reservation.Reservation(100_000, 200_000),
                         request.reservation_of(spec))
        spec.scheduler_hints = None
        spec.flavor.extra_specs = {}
        self.assertFalse(request.asks(spec))

    def test_limits_are_the_operators(self):
        self.config(max_share=0.4)
        self.assertRaises(exception.InvalidReservation,
                          request.admitted, base.request_spec(SPECS))

    def test_conflict_with_the_image(self):
        spec = base.request_spec(SPECS, image={'hw_cpu_policy': 'dedicated'})
        error = self.assertRaises(exception.InvalidReservation,
                                  request.admitted, spec)
        self.assertIn("image property hw_cpu_policy='dedicated'", str(error))

    def test_conflict_with_the_flavor(self):
        spec = base.request_spec(SPECS | {'hw:cpu_policy': 'dedicated'})
        self.assertRaises(exception.InvalidReservation,
                          request.admitted, spec)

    def test_dedicated_without_a_reservation_is_fine(self):
        spec = base.request_spec(image={'hw_cpu_policy': 'dedicated'})
        self.assertIsNone(request.admitted(spec))

    def _stored(self, flavorid, cell=True, **noted):
        """The server of the request exists, with a flavor and a note."""
        mapping = objects.InstanceMapping(cell_mapping=objects.CellMapping(
            uuid=uuids.cell) if cell else None)
        server = base.instance(**noted)
        server.flavor.flavorid = flavorid
        for owner, name, value in (
                (objects.InstanceMapping, 'get_by_instance_uuid', mapping),
                (objects.Instance, 'get_by_uuid', server),
                (servers.nova_context, 'target_cell', mock.MagicMock())):
            self.useFixture(fixtures.MockPatchObject(
                owner, name, return_value=value))

    def test_limits_tightened_since_do_not_strand_a_server(self):
        self.config(max_share=0.1)
        spec = base.request_spec(base.extra_specs(50_000, 100_000))
        self._stored(spec.flavor.flavorid)
        self.assertEqual(500_000, request.admitted(spec).bandwidth)

    def test_limits_hold_for_a_new_flavor(self):
        self.config(max_share=0.1)
        self._stored('another')
        with testtools.ExpectedException(exception.InvalidReservation):
            request.admitted(base.request_spec(
                base.extra_specs(50_000, 100_000)))

    def test_limits_hold_while_it_is_created(self):
        self.config(max_share=0.1)
        spec = base.request_spec(base.extra_specs(50_000, 100_000))
        self._stored(spec.flavor.flavorid, cell=False)
        with testtools.ExpectedException(exception.InvalidReservation):
            request.admitted(spec)

    def test_nonsense_is_refused_for_any_server(self):
        spec = base.request_spec(base.extra_specs(50_000, 40_000))
        self._stored(spec.flavor.flavorid)
        with testtools.ExpectedException(exception.InvalidReservation):
            request.admitted(spec)

    def _admitted(self, specs, hints, flavorid, **noted):
        self._stored(flavorid, **noted)
        return request.admitted(base.request_spec(specs, hints))

    def test_hints_of_a_server_are_those_noted_with_it(self):
        found = self._admitted(
            SPECS, base.hints(runtime=20_000), '1',
            nova_rt_hint='{"cpu.rt_runtime_us": 30000}')
        self.assertEqual(30_000, found.runtime_us)

    def test_hints_that_were_left_behind_stay_there(self):
        self.assertIsNone(self._admitted(
            {}, base.hints(5000, 10_000), '1', nova_rt_hint_left='1',
            nova_rt_hint='{"cpu.rt_runtime_us": 5000}'))

    def test_hints_of_a_server_without_a_note(self):
        found = self._admitted(SPECS, base.hints(20_000), '1')
        self.assertEqual(20_000, found.runtime_us)

    def test_hints_are_left_behind_in_a_resize(self):
        self.assertIsNone(self._admitted(
            {}, base.hints(5000, 10_000), 'another'))
        self.assertIsNotNone(self._admitted(
            {}, base.hints(5000, 10_000), '1'))

    def test_hints_of_a_new_server(self):
        with testtools.ExpectedException(exception.InvalidReservation):
            request.admitted(base.request_spec(
                {}, base.hints(5000, 10_000)))

    def test_a_server_that_holds_a_claim_was_admitted(self):
        claim = claims.RTClaim(
            uuids.server, 0, reservation.Reservation(1, 2), (0,))
        spec = base.request_spec(SPECS, image={'hw_cpu_policy': 'dedicated'})
        for flavorid, resources, admitted in (
                ('1', [claim.to_resource(uuids.node)], True),
                ('another', [claim.to_resource(uuids.node)], False),
                ('1', [], False)):
            self._stored(flavorid, resources=resources)
            if admitted:
                self.assertIsNotNone(request.admitted(spec))
                continue
            with testtools.ExpectedException(exception.InvalidReservation):
                request.admitted(spec)

    def test_a_conflict_with_the_image(self):
        with testtools.ExpectedException(exception.InvalidReservation):
            request.admitted(base.request_spec(
                SPECS, image={'hw_cpu_policy': 'dedicated'}))


class SettleTest(base.TestCase):

    def test_the_flavor_says_all(self):
        spec = base.request_spec(
            SPECS | {'hw:x': 'y'}, base.hints(5000) | {'group': ['g']})
        wanted = request.reservation_of(spec)
        request.settle(spec, wanted)
        self.assertEqual({'group': ['g']}, spec.scheduler_hints)
        self.assertEqual(base.extra_specs(5000, 200_000) | {'hw:x': 'y'},
                         spec.flavor.extra_specs)
        self.assertEqual(wanted, request.reservation_of(spec))

    def test_hints_that_were_left_behind(self):
        spec = base.request_spec({'hw:x': 'y'}, base.hints(5000, 10_000))
        request.settle(spec, None)
        self.assertFalse(request.asks(spec))
