# SPDX-License-Identifier: Apache-2.0

"""Tests the defragmentation planner, and Figure 5."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import planner
from nova_rt.rules.packing import policies
from nova_rt.rules import schedulability
from tests.unit import base as unit

CAP = 950_000

_CLAIMS = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=2,
                       unique=True).map(tuple),
              st.sampled_from((100, 200, 300, 400))), max_size=3)


def placed(cpus, ppm):
    return arrangement.Placed(cpus, unit.share(ppm))


def plan(state, claims, vcpus, ppm, max_moves=2):
    return planner.plan(state, claims, vcpus, unit.share(ppm),
                        max_moves).moves


def host(claims, count=4, cap=CAP):
    return cpus.CpuBandwidth.empty(range(count), cap).fold(
        (claim.cpus, claim.wanted) for claim in claims.values())


def after(move, claims):
    """*claims* with the move made, or None if it cannot be."""
    placed = claims[move.claim]
    if move.source not in placed.cpus or move.target in placed.cpus:
        return None
    moved = arrangement.Placed(
        tuple(move.target if cpu == move.source else cpu
              for cpu in placed.cpus), placed.wanted)
    return claims | {move.claim: moved}


class Figure5Test(base.BaseTestCase):
    """The paper's example, 4 pCPUs and shares up to 0.95."""

    def setUp(self):
        super().setUp()
        self.claims = {}
        for name, vcpus, bandwidth in (
                ('a', 2, 500_000), ('b', 1, 300_000), ('c', 3, 400_000)):
            chosen = cpus.fit(host(self.claims), vcpus,
                              unit.share(bandwidth), policies.worst_fit)
            self.claims[name] = placed(chosen, bandwidth)

    def test_placement(self):
        self.assertEqual(
            {'a': (0, 1), 'b': (2,), 'c': (3, 2, 0)},
            {name: placed.cpus for name, placed in self.claims.items()})

    def test_fragmented(self):
        state = host(self.claims)
        self.assertGreater(state.total - state.total_used, 750_000)
        self.assertIsNone(cpus.fit(
            state, 1, unit.share(750_000), policies.worst_fit))

    def test_one_move_makes_room(self):
        found = plan(host(self.claims), self.claims, 1, 750_000)
        self.assertEqual((arrangement.Move('c', 3, 1),), found)
        state = host(after(found[0], self.claims))
        self.assertEqual((3,),
                         cpus.fit(
            state, 1, unit.share(750_000), policies.worst_fit))


class PlanTest(base.BaseTestCase):

    def test_nothing_to_do(self):
        self.assertEqual((), plan(host({}), {}, 4, CAP))

    def test_hopeless(self):
        claims = {'a': placed((0,), CAP)}
        self.assertIsNone(plan(host(claims), claims, 4, 1))

    def test_two_moves_only_where_allowed(self):
        claims = {'a': placed((0,), 200),
                  'b': placed((0,), 300),
                  'c': placed((1,), 700),
                  'd': placed((2,), 600)}
        state = host(claims, count=3, cap=900)
        self.assertIsNone(plan(state, claims, 1, 900, max_moves=1))
        self.assertEqual((arrangement.Move('a', 0, 1),
                          arrangement.Move('b', 0, 2)),
                         plan(state, claims, 1, 900))

    def test_vcpus_of_a_claim_stay_apart(self):
        claims = {'a': placed((0, 1), 200)}
        state = host(claims, count=2, cap=500)
        self.assertIsNone(plan(state, claims, 1, 400))

    def test_second_move_starts_where_the_first_ended(self):
        claims = {'a': placed((0, 1), 200)}
        self.assertIsNone(
            plan(host(claims, cap=500), claims, 1, 600))

    def test_smallest_claim_moves(self):
        claims = {'big': placed((0,), 400),
                  'small': placed((1,), 100)}
        state = host(claims, count=2, cap=500)
        self.assertEqual((arrangement.Move('small', 1, 0),),
                         plan(state, claims, 1, 500))

    def test_moves_are_no_use_where_shares_are_replicated(self):
        claims = {'a': placed((0,), 400)}
        state = cpus.CpuBandwidth.empty((0, 1), 500, replicated=True).claim(
            (0,), unit.share(400))
        self.assertIsNone(plan(state, claims, 1, 200))

    def test_sum_is_not_enough(self):
        """No number of moves helps, and none is tried."""
        claims = {str(cpu): placed((cpu,), 300) for cpu in range(4)}
        found = planner.plan(host(claims, cap=400), claims, 2,
                             unit.share(201), max_moves=9)
        self.assertEqual(planner.Plan(None, 10), found)
        self.assertFalse(found.is_shortest)

    def test_within(self):
        """A request and a server that must stay in their cells."""
        stays = arrangement.Placed((0,), unit.share(300),
                                   (frozenset((0, 1)),))
        claims = {'a': stays, 'b': placed((1,), 300)}
        state = host(claims, cap=400)
        self.assertEqual(
            (arrangement.Move('b', 1, 2),), planner.plan(
                state, claims, 1, unit.share(400), within=(0, 1)).moves)
        del claims['b']
        self.assertIsNone(planner.plan(
            state, claims, 1, unit.share(400), within=(0, 1)).moves)

    def test_without_a_proof(self):
        """A search that may evaluate nothing proves only the first bound."""
        claims = {str(number): placed((cpu,), ppm)
                  for number, (cpu, ppm) in enumerate((
                      (1, 250), (2, 100), (1, 200), (3, 300), (0, 300),
                      (2, 250)))}
        state, wanted = host(claims, cap=500), unit.share(450)
        found = planner.plan(state, claims, 1, wanted, steps=0)
        self.assertEqual((3, 1), (len(found.moves), found.at_least))
        self.assertFalse(found.is_shortest)
        self.assertTrue(planner.plan(state, claims, 1, wanted).is_shortest)

    def test_place_refuses_what_has_no_room(self):
        claims = {'a': placed((0,), 200), 'b': placed((1,), 300)}
        self.assertRaisesRegex(
            ValueError, 'has no room', planner.place, host(claims, cap=400),
            claims, [arrangement.Move('a', 0, 1)])

    @hypothesis.given(_CLAIMS, st.integers(1, 3), st.integers(1, 500),
                      st.sampled_from((None, (0, 1), (1, 2, 3))))
    @unit.PROPERTY
    def test_plans_work_and_are_shortest(self, claims, vcpus, bandwidth,
                                         within):
        named = {str(n): placed(*claim)
                 for n, claim in enumerate(claims)}
        state = host(named, cap=500)
        hypothesis.assume(all(state.free(cpu) >= 0 for cpu in state.cpus))
        found = planner.plan(state, named, vcpus, unit.share(bandwidth),
                             max_moves=2, within=within)
        shortest = self._shortest(named, vcpus, bandwidth, within, 2)
        self.assertEqual(
            shortest, None if found.moves is None else len(found.moves))
        if found.moves is None:
            self.assertEqual(3, found.at_least)
            return
        self.assertTrue(found.is_shortest)
        _, then = planner.place(state, named, found.moves)
        self.assertTrue(self._fits(then, vcpus, bandwidth, within))

    @hypothesis.given(_CLAIMS, st.integers(1, 3), st.integers(1, 500))
    @unit.PROPERTY
    def test_without_a_proof_plans_work(self, claims, vcpus, bandwidth):
        named = {str(n): placed(*claim)
                 for n, claim in enumerate(claims)}
        state = host(named, cap=500)
        hypothesis.assume(all(state.free(cpu) >= 0 for cpu in state.cpus))
        found = planner.plan(state, named, vcpus, unit.share(bandwidth),
                             max_moves=3, steps=3)
        shortest = self._shortest(named, vcpus, bandwidth, None, 2)
        if shortest is not None:
            self.assertLessEqual(found.at_least, shortest)
        if found.moves is not None:
            self.assertLessEqual(found.at_least, len(found.moves))
            _, then = planner.place(state, named, found.moves)
            self.assertTrue(self._fits(then, vcpus, bandwidth))

    def _shortest(self, claims, vcpus, bandwidth, within, most):
        """The fewest moves, or None, by trying all of them."""
        if self._fits(claims, vcpus, bandwidth, within):
            return 0
        if not most:
            return None
        moves = (arrangement.Move(name, source, target) for name in claims
                 for source in range(4) for target in range(4))
        lengths = [self._shortest(then, vcpus, bandwidth, within, most - 1)
                   for move in moves
                   for then in (after(move, claims),)
                   if then and self._fits(then, 0, 1)]
        return min((length + 1 for length in lengths if length is not None),
                   default=None)

    def _fits(self, claims, vcpus, bandwidth, within=None):
        load = [sum(placed.wanted.bandwidth for placed in claims.values()
                    if cpu in placed.cpus) for cpu in range(4)]
        return max(load) <= 500 and sum(
            used + bandwidth <= 500 for cpu, used in enumerate(load)
            if within is None or cpu in within) >= vcpus


class OtherKernelsTest(base.BaseTestCase):
    """The tests of kernels where sums of pCPUs do not decide alone."""

    def test_threads_of_a_core(self):
        """A pCPU gets room if a vCPU leaves its sibling."""
        claims = {'a': placed((0,), 400), 'b': placed((2,), 300)}
        state = dataclasses.replace(
            cpus.CpuBandwidth.empty(range(4), 800), smt=cpus.Smt.CORE,
            cores=(0, 0, 1, 1)).fold(
                (each.cpus, each.wanted) for each in claims.values())
        self.assertEqual((arrangement.Move('b', 2, 1),),
                         plan(state, claims, 1, 700))

    def test_fixed_priorities(self):
        rule = schedulability.FixedPriorities(1, 0, 1)
        claims = {'a': placed((0,), 100_000), 'b': placed((1,), 100_000)}
        state = cpus.CpuBandwidth.empty((0, 1), 950_000, rule=rule).fold(
            (each.cpus, each.wanted) for each in claims.values())
        moves = plan(state, claims, 1, 850_000)
        self.assertEqual(1, len(moves))
        self.assertTrue(cpus.fits(planner.place(state, claims, moves)[0], 1,
                                  unit.share(850_000)))
