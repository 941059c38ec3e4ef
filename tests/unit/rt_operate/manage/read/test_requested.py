# SPDX-License-Identifier: Apache-2.0

from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from rt_operate.manage.read import requested
from tests.unit import base

SPECS = base.extra_specs(100_000, 200_000)
KEY = 'cpu.rt_runtime_us'


def claim(**hints):
    return claims.RTClaim(
        '0' * 36, 0, reservation.Reservation(1000, 200_000), (0,),
        {KEY: number for number in hints.values()})


class RequestedTest(base.TestCase):

    def of(self, specs=SPECS, held=(), **metadata):
        instance = base.instance(specs, **metadata)
        return requested.reservation_of(
            instance, instance.flavor, held)

    def test_none(self):
        self.assertEqual((None, ''), self.of({}))

    def test_the_flavor(self):
        self.assertEqual(
            (reservation.Reservation(100_000, 200_000), ''), self.of())

    def test_the_note_wins_over_the_claim(self):
        noted = {'nova_rt_hint': '{"cpu.rt_runtime_us": "120000"}'}
        for held in ([], [claim(runtime=5000)]):
            self.assertEqual(
                (reservation.Reservation(120_000, 200_000), ''),
                self.of(held=held, **noted))

    def test_the_claim_knows_where_the_note_is_lost(self):
        self.assertEqual((reservation.Reservation(5000, 200_000), ''),
                         self.of(held=[claim(runtime=5000)]))

    def test_hints_that_were_left_behind(self):
        self.assertEqual(
            (reservation.Reservation(100_000, 200_000), ''),
            self.of(held=[claim(runtime=5000)], nova_rt_hint_left='1',
                    nova_rt_hint='{"cpu.rt_runtime_us": "120000"}'))

    def test_no_sense(self):
        for specs, noted in (({'hw:cpu.rt_runtime_us': '5'}, {}),
                             (SPECS, {'nova_rt_hint': 'rubbish'}),
                             (SPECS, {'nova_rt_hint': '[1]'})):
            wanted, trouble = self.of(specs, **noted)
            self.assertIsNone(wanted)
            self.assertNotEqual('', trouble)
