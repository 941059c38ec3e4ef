# SPDX-License-Identifier: Apache-2.0

"""Tests the accounting per pCPU and the fit function."""

import collections
import dataclasses
import fractions

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from tests.unit import base as unit

POLICIES = (policies.worst_fit, policies.best_fit, policies.first_fit)

_SHARES_OF = st.integers(1, 1_000_000).map(unit.share)
_CPUS = st.sets(st.integers(0, 15), max_size=8).map(
    lambda ids: tuple(sorted(ids)))
_EMPTY = st.builds(
    cpus.CpuBandwidth.empty, cpus=_CPUS, cap=st.integers(0, 1_000_000),
    replicated=st.booleans())
#: Hosts in any state, over the cap included.
_CLAIMS = st.lists(st.tuples(
    st.lists(st.integers(0, 15), min_size=1, max_size=4, unique=True),
    _SHARES_OF), max_size=5)
_STATES = st.builds(lambda empty, claims: empty.fold(claims), _EMPTY, _CLAIMS)
_REQUESTS = st.tuples(
    st.integers(1, 4), st.integers(1, 400_000).map(unit.share))
_SHARES = st.builds(
    lambda a, b: reservation.Reservation(min(a, b), max(a, b)),
    st.integers(1, 1000), st.integers(1, 1000))


def admit(state, requests, policy):
    """Claim whatever fits; the state and the claims made."""
    made = []
    for vcpus, wanted in requests:
        chosen = cpus.fit(state, vcpus, wanted, policy)
        if chosen is not None:
            state = state.claim(chosen, wanted)
            made.append((chosen, wanted))
    return state, made


def all_fit(state, requests):
    """Checks whether all claims fit, one after the other."""
    for vcpus, wanted in requests:
        if not cpus.fits(state, vcpus, wanted):
            return False
        state = state.claim(
            cpus.fit(state, vcpus, wanted, policies.first_fit), wanted)
    return True


class CpuBandwidthTest(base.BaseTestCase):

    def test_empty_host_is_in_order(self):
        self.assertEqual(cpus.CpuBandwidth((0, 2, 5), 900, (0, 0, 0)),
                         cpus.CpuBandwidth.empty({5, 0, 2}, 900))
        self.assertEqual((0, 2), cpus.CpuBandwidth.empty((2, 0), 1).cpus)

    def test_claim_counts_on_its_pcpus_only(self):
        state = cpus.CpuBandwidth.empty((0, 1, 2), 900).claim(
            (2, 0), unit.share(300))
        self.assertEqual([600, 900, 600], [state.free(n) for n in range(3)])
        self.assertEqual((2700, 600), (state.total, state.total_used))

    def test_replicated_claim_counts_on_every_pcpu(self):
        state = cpus.CpuBandwidth.empty((0, 1, 2), 900, replicated=True)
        state = state.claim((2, 0), unit.share(300))
        self.assertEqual([600] * 3, [state.free(n) for n in range(3)])
        self.assertEqual((2700, 900), (state.total, state.total_used))

    def test_lowered_cap_leaves_less_than_nothing(self):
        self.assertEqual(-100, cpus.CpuBandwidth((0,), 200, (300,)).free(0))

    def test_pcpus_taken_out_do_not_count(self):
        state = cpus.CpuBandwidth.empty((1,), 500).fold(
            [((0, 1), unit.share(100))])
        self.assertEqual((500, 100), (state.total, state.total_used))

    @hypothesis.given(_STATES, _CLAIMS)
    @unit.PROPERTY
    def test_claim_then_release_is_the_identity(self, state, claims):
        for chosen, wanted in claims:
            self.assertEqual(
                state, state.claim(chosen, wanted).release(chosen, wanted))

    @hypothesis.given(_EMPTY, _CLAIMS, st.data())
    @unit.PROPERTY
    def test_order_of_releases_does_not_matter(self, empty, claims, data):
        gone = data.draw(st.permutations(claims))
        kept = data.draw(st.integers(0, len(claims)))
        state = empty.fold(claims)
        for chosen, wanted in gone[kept:]:
            state = state.release(chosen, wanted)
        self.assertEqual(empty.fold(gone[:kept]), state)


class FitTest(base.BaseTestCase):

    def fit(self, state, vcpus, ppm, policy=policies.first_fit):
        return cpus.fit(state, vcpus, unit.share(ppm), policy)

    def test_to_the_last_ppm(self):
        state = cpus.CpuBandwidth((0,), 950_000, (450_000,))
        self.assertEqual((0,), self.fit(state, 1, 500_000))
        self.assertIsNone(self.fit(state, 1, 500_001))

    def test_a_pcpu_for_each_vcpu(self):
        state = cpus.CpuBandwidth.empty((0, 1), 950_000)
        self.assertEqual((0, 1), self.fit(state, 2, 1))
        self.assertIsNone(self.fit(state, 3, 1))

    def test_sum_is_not_enough(self):
        # 0.8 is free in all, which the paper's filter would let pass.
        state = cpus.CpuBandwidth((0, 1), 950_000, (550_000, 550_000))
        self.assertIsNone(self.fit(state, 1, 500_000))

    def test_replicated_room_is_asked_once(self):
        state = cpus.CpuBandwidth.empty((0, 1), 900, replicated=True).claim(
            (0,), unit.share(300))
        self.assertEqual((0, 1), self.fit(state, 2, 600))
        self.assertIsNone(self.fit(state, 1, 601))

    def admitted(self, count, pcpus, replicated, *requests):
        state = cpus.CpuBandwidth.empty(range(pcpus), 950_000, replicated)
        requests = [(vcpus, unit.share(ppm)) for vcpus, ppm in requests]
        for policy in POLICIES:
            _, made = admit(state, requests, policy)
            self.assertEqual(count, len(made))
            self.assertEqual(count == len(requests), all_fit(state, requests))

    def test_two_servers_on_two_pcpus(self):
        for count, replicated in ((2, False), (1, True)):
            self.admitted(count, 2, replicated, *[(1, 600_000)] * 2)

    def test_a_server_as_wide_as_the_host(self):
        for replicated in (False, True):
            self.admitted(1, 4, replicated, (4, 600_000))
            self.admitted(0, 3, replicated, (4, 600_000))

    @hypothesis.given(_STATES, _REQUESTS)
    @unit.PROPERTY
    def test_same_answer_for_every_policy(self, state, request):
        vcpus, wanted = request
        # Counted by free(), which the invariants below check.
        room = [cpu for cpu in state.cpus
                if state.free(cpu) >= wanted.bandwidth]
        self.assertEqual(len(room) >= vcpus,
                         cpus.fits(state, vcpus, wanted))
        for policy in POLICIES:
            found = cpus.fit(state, vcpus, wanted, policy)
            self.assertEqual(len(room) >= vcpus, found is not None)
            if found is not None:
                self.assertEqual(vcpus, len(set(found)))
                self.assertEqual(set(), set(found) - set(room))


class FixedPrioritiesTest(base.BaseTestCase):
    """A kernel without EDF: the sum does not suffice."""

    LONG = reservation.Reservation(120_000, 200_000)
    SHORT = reservation.Reservation(30_000, 100_000)

    def empty(self, pcpus=2):
        return cpus.CpuBandwidth.empty(range(pcpus), 950_000, True,
                                       unit.FIXED)

    def test_not_on_the_same_pcpu(self):
        state = self.empty().claim((0,), self.LONG)
        for policy in POLICIES:
            self.assertEqual((1,), cpus.fit(state, 1, self.SHORT, policy))
        self.assertTrue(cpus.fits(state, 1, self.SHORT))
        self.assertFalse(cpus.fits(state, 2, self.SHORT))
        alone = self.empty(1).claim((0,), self.LONG)
        self.assertIsNone(cpus.fit(alone, 1, self.SHORT, POLICIES[0]))
        self.assertFalse(cpus.fits(alone, 1, self.SHORT))

    def test_the_sum_counts_as_well(self):
        state = self.empty().claim((0,), self.LONG)
        self.assertIsNone(cpus.fit(
            state, 1, reservation.Reservation(36, 100), POLICIES[0]))

    def test_a_period_that_the_kernel_does_not_keep(self):
        wanted = reservation.Reservation(900, 1_000)
        self.assertFalse(cpus.fits(self.empty(), 1, wanted))
        edf = cpus.CpuBandwidth.empty((0,), 950_000, True)
        self.assertTrue(cpus.fits(edf, 1, wanted))

    def test_release_of_what_is_not_there(self):
        self.assertRaises(ValueError, self.empty().release, (0,), self.LONG)

    @hypothesis.given(st.lists(st.tuples(
        st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True),
        _SHARES), max_size=6), st.data())
    @unit.PROPERTY
    def test_order_of_claims_and_releases_does_not_matter(self, claims, data):
        empty = self.empty(4)
        state = empty.fold(data.draw(st.permutations(claims)))
        self.assertEqual(empty.fold(claims), state)
        for chosen, wanted in data.draw(st.permutations(claims)):
            state = state.release(chosen, wanted)
        self.assertEqual(empty, state)

    @hypothesis.given(st.lists(st.tuples(
        st.integers(1, 3), st.builds(
            reservation.Reservation, st.integers(1, 60_000),
            st.integers(60_000, 400_000))), max_size=8),
        st.sampled_from(POLICIES))
    @unit.PROPERTY
    def test_what_fits_the_kernel_can_serve(self, requests, policy):
        state, made = admit(self.empty(3), requests, policy)
        for cpu in state.cpus:
            self.assertTrue(unit.FIXED.holds(
                [wanted for chosen, wanted in made if cpu in chosen]))


class InvariantTest(base.BaseTestCase):
    """Section 5 of the design, as far as the pure core goes."""

    @hypothesis.given(_EMPTY, st.lists(_REQUESTS, max_size=20),
                      st.sampled_from(POLICIES), st.data())
    @unit.PROPERTY
    def test_never_beyond_the_cap(self, empty, requests, policy, data):
        state, made, done = empty, [], 0
        while done < len(requests):
            if made and data.draw(st.booleans()):
                gone = made.pop(data.draw(st.integers(0, len(made) - 1)))
                state = state.release(*gone)
            else:
                state, new = admit(state, requests[done:done + 1], policy)
                made += new
                done += 1
            # Counted again from the claims, not by the code under test.
            for cpu in empty.cpus:
                load = sum(wanted.bandwidth for chosen, wanted in made
                           if empty.replicated or cpu in chosen)
                self.assertLessEqual(load, empty.cap)
                self.assertEqual(empty.cap - load, state.free(cpu))
        for chosen, wanted in data.draw(st.permutations(made)):
            state = state.release(chosen, wanted)
        self.assertEqual(empty, state)

    @hypothesis.given(st.lists(_SHARES, min_size=1, max_size=6),
                      st.integers(0, 1_000_000), st.booleans())
    @unit.PROPERTY
    def test_rounding_against_exact_arithmetic(self, shares, cap, replicated):
        """The bounds of rounding, for n claims on one pCPU.

        All admitted: the exact sum is within the cap.  Exact sum + n ppm
        (less than 1 ppm is lost per claim) within the cap: all admitted.
        """
        empty = cpus.CpuBandwidth.empty((0,), cap, replicated)
        _, made = admit(empty, [(1, share) for share in shares],
                        policies.worst_fit)
        exact = sum(fractions.Fraction(share.runtime_us * 1_000_000,
                                       share.period_us) for share in shares)
        if len(made) == len(shares):
            self.assertLessEqual(exact, cap)
        else:
            self.assertGreater(exact + len(shares), cap)

    @hypothesis.given(st.lists(st.integers(1, 400_000), min_size=1,
                               max_size=6), st.integers(0, 1_000_000))
    @unit.PROPERTY
    def test_whole_ppm_are_never_rounded(self, runtimes, cap):
        # With a period of one second a ppm is a microsecond.
        requests = [(1, unit.share(n)) for n in runtimes]
        _, made = admit(cpus.CpuBandwidth.empty((0,), cap), requests,
                        policies.worst_fit)
        self.assertEqual(sum(runtimes) <= cap, made == [
            ((0,), wanted) for _, wanted in requests])


def siblings(state, smt, width=2):
    """Returns the same host with cores of *width* neighbouring pCPUs."""
    return dataclasses.replace(
        state, smt=smt, cores=tuple(cpu // width for cpu in state.cpus))


def core_sums(state):
    sums = collections.Counter()
    for core, used in zip(state.cores, state.used, strict=True):
        sums[core] += used
    return sums


class SiblingsTest(base.BaseTestCase):

    EMPTY = siblings(cpus.CpuBandwidth.empty(range(4), 950_000),
                     cpus.Smt.CORE)
    HALF = unit.share(500_000)

    def test_siblings_have_one_sum(self):
        self.assertEqual((1_900_000, 2), (self.EMPTY.total, self.EMPTY.pools))
        self.assertTrue(cpus.fits(self.EMPTY, 2, self.HALF))
        self.assertFalse(cpus.fits(self.EMPTY, 3, self.HALF))
        self.assertEqual((0, 2), cpus.fit(
            self.EMPTY, 2, self.HALF, policies.first_fit))
        busy = self.EMPTY.claim((0,), unit.share(600_000))
        self.assertEqual([(2, 0)], [*cpus.room(busy, self.HALF)])
        self.assertEqual(
            [(1, 600_000), (2, 0), (3, 300_000)],
            [*cpus.room(busy, unit.share(300_000))])

    def test_ignored_siblings_change_nothing(self):
        plain = siblings(self.EMPTY, cpus.Smt.IGNORE)
        self.assertTrue(cpus.fits(plain, 4, self.HALF))
        self.assertEqual(3_800_000, plain.total)

    def test_the_policy_takes_the_emptiest_core(self):
        busy = self.EMPTY.claim((0,), unit.share(200_000))
        for policy, chosen in ((policies.worst_fit, 2),
                               (policies.best_fit, 0)):
            self.assertEqual((chosen,), cpus.fit(
                busy, 1, unit.share(300_000), policy))

    def test_cores_without_a_claim_come_first(self):
        state = siblings(self.EMPTY, cpus.Smt.PREFER)
        for policy in POLICIES:
            busy = state.claim((0,), self.HALF)
            self.assertEqual((2,), cpus.fit(busy, 1, self.HALF, policy))
            self.assertEqual({0, 2}, {*cpus.fit(
                state, 2, self.HALF, policy)})
            self.assertEqual(4, len({*cpus.fit(state, 4, self.HALF, policy)}))

    @hypothesis.given(
        _STATES, st.sampled_from(cpus.Smt), st.integers(1, 3),
        st.lists(_REQUESTS, max_size=6), st.sampled_from(POLICIES))
    @unit.PROPERTY
    def test_no_core_beyond_the_cap(self, state, smt, width, requests,
                                    policy):
        state = siblings(state, smt, width)
        before = core_sums(state)
        after, made = admit(state, requests, policy)
        for chosen, _ in made:
            self.assertEqual(len(chosen), len(set(chosen)))
        if state.counts_cores:
            for core, used in core_sums(after).items():
                self.assertLessEqual(used, max(state.cap, before[core]))
        for used, first in zip(after.used, state.used, strict=True):
            self.assertLessEqual(used, max(state.cap, first))

    @hypothesis.given(_STATES, st.integers(1, 3), _REQUESTS)
    @unit.PROPERTY
    def test_what_fits_on_cores_is_found(self, state, width, request):
        """An exact count: each core alone decides how many vCPUs it takes."""
        vcpus, wanted = request
        state = siblings(state, cpus.Smt.CORE, width)
        threads = collections.Counter(state.cores)
        most = sum(max(0, min(
            threads[core], (state.cap - used) // wanted.bandwidth))
            for core, used in core_sums(state).items())
        if state.replicated and state.charged + wanted.bandwidth > state.cap:
            most = 0
        self.assertEqual(most >= vcpus, cpus.fits(state, vcpus, wanted))
        for policy in POLICIES:
            self.assertEqual(most >= vcpus, cpus.fit(
                state, vcpus, wanted, policy) is not None)

    @hypothesis.given(_STATES, _REQUESTS)
    @unit.PROPERTY
    def test_a_preference_refuses_nothing(self, state, request):
        self.assertEqual(
            cpus.fits(state, *request),
            cpus.fit(siblings(state, cpus.Smt.PREFER), *request,
                     policies.worst_fit) is not None)


class IdsTest(base.BaseTestCase):

    def test_as_the_kernel_writes_them(self):
        for text, ids in (('', ()), ('5', (5,)), ('0-1', (0, 1)),
                          ('0-3,8,10-11', (0, 1, 2, 3, 8, 10, 11))):
            self.assertEqual(text, cpulist.format_ids(ids))
            self.assertEqual(ids, cpulist.parse_ids(text))

    def test_no_list(self):
        for text in ('x', '1-x', '-', '1,', ',', '0x1'):
            self.assertRaises(ValueError, cpulist.parse_ids, text)

    @hypothesis.given(st.sets(st.integers(0, 600)))
    @unit.PROPERTY
    def test_round_trip(self, ids):
        ascending = tuple(sorted(ids))
        self.assertEqual(ascending,
                         cpulist.parse_ids(cpulist.format_ids(ascending)))

    def test_backward_range(self):
        self.assertRaises(ValueError, cpulist.parse_ids, '3-1')
        self.assertRaises(ValueError, cpulist.parse_ids, '0-99999999999')
