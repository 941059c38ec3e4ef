# SPDX-License-Identifier: Apache-2.0

"""Tests the server that a loop changes."""

import dataclasses
from unittest import mock

from oslo_db import exception as db_exception

from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_operate.manage import auto
from tests.unit import base
from tests.unit.services.virt.libvirt import fakes


class ServerTest(base.TestCase):

    def test_a_runtime_that_is_divided_for_the_kernel(self) -> None:
        """The loop must not take the kernel's runtime for the server's."""
        claim = fakes.claim(30_000, 100_000, divisor=10)
        instance = base.instance(
            {'hw:cpu.rt_auto_min_share': '0.1',
             'hw:cpu.rt_auto_max_share': '0.5'},
            resources=[claim.to_resource(claim.instance_uuid)])
        with mock.patch.object(auto.hints, 'server', return_value=instance):
            server = auto.Server(claim.instance_uuid)
            self.assertEqual('0.5', server.extra_specs[
                reservation.AUTO_MOST_KEY])
            self.assertEqual(claim.reservation,
                             server.reserved(claim.in_kernel))
            changed = dataclasses.replace(claim.in_kernel, runtime_us=2_000)
            self.assertEqual(changed, server.reserved(changed))
            self.assertIsNone(server.reserved(None))
            self.assertEqual(reservation.Reservation(3_000, 10_000),
                             claim.in_kernel)

    def test_no_database(self) -> None:
        """The service says so, and does not end."""
        with mock.patch.object(
                auto.hints, 'server',
                side_effect=db_exception.CantStartEngineError):
            error = self.assertRaises(exception.CannotChangeReservation,
                                      auto.Server, 'uuid')
        self.assertIn('the database cannot be used', str(error))
