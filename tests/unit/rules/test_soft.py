# SPDX-License-Identifier: Apache-2.0

"""Tests what soft reservations get above their runtime."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import soft

CAP = 950_000


def share(per_cent, period_us=100_000):
    return reservation.Reservation(per_cent * period_us // 100, period_us)


class KindTest(base.BaseTestCase):

    def test_values(self):
        self.assertFalse(soft.is_soft({}))
        self.assertFalse(soft.is_soft({'hw:cpu.rt_reservation': 'hard'}))
        self.assertTrue(soft.is_soft({'hw:cpu.rt_reservation': 'soft'}))

    def test_an_unknown_value(self):
        for value in ('fair', 'SOFT', '', 1, []):
            error = self.assertRaises(
                exception.InvalidReservation, soft.is_soft,
                {'hw:cpu.rt_reservation': value})
            self.assertEqual(
                f'Invalid flavor extra spec hw:cpu.rt_reservation={value!r}: '
                f'it is not one of hard, soft; give soft for servers that '
                f'may use more than their runtime, or hard for servers that '
                f'may not.', str(error))


class GrantedTest(base.BaseTestCase):

    def granted(self, state, soft_claims, hard=()):
        return soft.granted(state.fold([*soft_claims, *hard]), soft_claims)

    def test_alone(self):
        """The example of the documentation."""
        state = cpus.CpuBandwidth.empty((0, 1), CAP)
        self.assertEqual([reservation.Reservation(95_000, 100_000)],
                         self.granted(state, [((0,), share(30))]))

    def test_beside_others(self):
        state = cpus.CpuBandwidth.empty((0, 1), CAP)
        self.assertEqual([share(35)], self.granted(
            state, [((0,), share(30))],
            [((0,), share(40)), ((0,), share(20, 10_000))]))

    def test_two_share_what_is_free(self):
        state = cpus.CpuBandwidth.empty((0,), CAP)
        self.assertEqual([share(30), share(60)], self.granted(
            state, [((0,), share(30)), ((0,), share(60))],
            [((0,), share(5))]))
        self.assertEqual([share(40), share(55)], self.granted(
            state, [((0,), share(25)), ((0,), share(40))]))

    def test_the_fullest_pcpu_decides(self):
        state = cpus.CpuBandwidth.empty((0, 1), CAP)
        self.assertEqual([share(45)], self.granted(
            state, [((0, 1), share(30))], [((1,), share(50))]))

    def test_siblings_have_one_sum(self):
        state = dataclasses.replace(
            cpus.CpuBandwidth.empty((0, 1, 2, 3), CAP), cores=(0, 0, 1, 1),
            smt=cpus.Smt.CORE)
        self.assertEqual([share(55)], self.granted(
            state, [((0,), share(30))], [((1,), share(40))]))

    def test_a_cap_that_was_lowered(self):
        state = cpus.CpuBandwidth.empty((0,), 200_000)
        self.assertEqual([share(30)], self.granted(
            state, [((0,), share(30))]))

    def test_a_pcpu_that_was_taken_away(self):
        state = cpus.CpuBandwidth.empty((0,), CAP)
        self.assertEqual([share(30)], self.granted(
            state, [((0, 7), share(30))]))

    @given(st.lists(st.tuples(
        st.sets(st.integers(0, 3), min_size=1), st.integers(2, 400),
        st.sampled_from((1_000, 7_919, 100_000)), st.booleans()),
        max_size=12), st.booleans())
    def test_nothing_is_over_committed(self, wishes, cores):
        """Whoever is soft, no pCPU has more than its cap, and none less."""
        empty = cpus.CpuBandwidth.empty((0, 1, 2, 3), CAP)
        if cores:
            empty = dataclasses.replace(empty, cores=(0, 0, 1, 1),
                                        smt=cpus.Smt.CORE)
        made, kinds = [], []
        for ids, per_mille, period, is_soft in wishes:
            claim = (tuple(sorted(ids)), reservation.Reservation(
                max(2, per_mille * period // 1000), period))
            if cpus.fit(empty.fold(made), len(ids), claim[1],
                        lambda room, count: claim[0], ids) is None:
                continue
            made.append(claim)
            kinds.append(is_soft)
        softs = [claim for claim, kind in zip(made, kinds, strict=True)
                 if kind]
        granted = soft.granted(empty.fold(made), softs)
        for (_, wanted), more in zip(softs, granted, strict=True):
            self.assertGreaterEqual(more.runtime_us, wanted.runtime_us)
            self.assertEqual(wanted.period_us, more.period_us)
        after = empty.fold([
            *(claim for claim, kind in zip(made, kinds, strict=True)
              if not kind),
            *((ids, more) for (ids, _), more in zip(
                softs, granted, strict=True))])
        sums = {}
        for cpu, used in zip(after.cpus, after.used, strict=True):
            pool = cpu // 2 if cores else cpu
            sums[pool] = sums.get(pool, 0) + used
        self.assertLessEqual(max(sums.values()), CAP)
