# SPDX-License-Identifier: Apache-2.0

"""Tests what a flavor asks about siblings."""

from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import smt


class SmtTest(base.BaseTestCase):

    def test_values(self):
        self.assertFalse(smt.needs_core({}))
        self.assertFalse(smt.needs_core({'hw:cpu.rt_smt': 'ignore'}))
        self.assertTrue(smt.needs_core({'hw:cpu.rt_smt': 'core'}))

    def test_an_unknown_value(self):
        for value in ('prefer', 'CORE', '', 1, []):
            error = self.assertRaises(
                exception.InvalidReservation, smt.needs_core,
                {'hw:cpu.rt_smt': value})
            self.assertEqual(
                f'Invalid flavor extra spec hw:cpu.rt_smt={value!r}: it is '
                f'not one of ignore, core; give core for hosts where the '
                f'reservations on the threads of a core count as one.',
                str(error))
