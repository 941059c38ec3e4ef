# SPDX-License-Identifier: Apache-2.0

"""Tests that an experiment needs room for its reservations first."""

import contextlib
import io
import unittest
from unittest import mock

import ddt

from nova_rt.machine.kernel import base
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from paper import __main__ as main
from paper import room

HALF = rt_reservation.Reservation(50_000, 100_000)


@ddt.ddt
class RoomTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.kernel = mock.Mock(spec=base.KernelInterface)
        patch = mock.patch('paper.room.interface', lambda: self.kernel)
        patch.start()
        self.addCleanup(patch.stop)

    def holds(self, ppm, *others):
        self.kernel.capacity.return_value = base.Capacity(
            ppm, 4000, others=others)

    def test_all_fit(self):
        self.holds(500_000)
        room.require(HALF)

    def test_no_room_on_this_kernel(self):
        self.holds(950_000)
        with self.assertRaisesRegex(
                room.NoRoom, r'need 1\.000 of a CPU, .* only 0\.950 left\.$'):
            room.require(HALF, HALF)

    def test_no_interface(self):
        self.kernel = None
        with self.assertRaisesRegex(exception.KernelError, 'no interface'):
            room.require(HALF)

    @ddt.data(['pinning'], ['interference'], ['containers'],
              ['chain', '--reserved'])
    def test_experiments_end_before_they_measure(self, command):
        self.holds(100_000, '/x', '/y')
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = main.main([*command, '--short'])
        self.assertEqual(1, status)
        self.assertRegex(said.getvalue(), (
            rf'^{command[0]}: The reservations need 0\.\d+ of a CPU, and the '
            r'kernel has only 0\.100 left beside the reservations of /x and '
            r'/y; run the command again when these have ended\.$'))
