# SPDX-License-Identifier: Apache-2.0

"""Tests the defragmentation planner, and Figure 5."""

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules.packing import planner
from nova_rt.rules.packing import policies
from tests.unit import base as unit

CAP = 950_000

_CLAIMS = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=2,
                       unique=True).map(tuple),
              st.sampled_from((100, 200, 300, 400))), max_size=4)


def placed(cpus, ppm):
    return planner.Placed(cpus, unit.share(ppm))


def plan(state, claims, vcpus, ppm, max_moves=2):
    return planner.plan(state, claims, vcpus, unit.share(ppm), max_moves)


def host(claims, count=4, cap=CAP):
    return cpus.CpuBandwidth.empty(range(count), cap).fold(
        (claim.cpus, claim.wanted) for claim in claims.values())


def after(move, claims):
    """*claims* with the move made, or None where it cannot be."""
    placed = claims[move.claim]
    if move.source not in placed.cpus or move.target in placed.cpus:
        return None
    moved = planner.Placed(
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
        self.assertEqual((planner.Move('c', 3, 1),), found)
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
        self.assertEqual((planner.Move('a', 0, 1), planner.Move('b', 0, 2)),
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
        self.assertEqual((planner.Move('small', 1, 0),),
                         plan(state, claims, 1, 500))

    def test_moves_are_no_use_where_shares_are_replicated(self):
        claims = {'a': placed((0,), 400)}
        state = cpus.CpuBandwidth.empty((0, 1), 500, replicated=True).claim(
            (0,), unit.share(400))
        self.assertIsNone(plan(state, claims, 1, 200))

    @hypothesis.given(_CLAIMS, st.integers(1, 3), st.integers(1, 500))
    @unit.PROPERTY
    def test_plans_work_and_are_shortest(self, claims, vcpus, bandwidth):
        named = {str(n): placed(*claim)
                 for n, claim in enumerate(claims)}
        state = host(named, cap=500)
        hypothesis.assume(all(state.free(cpu) >= 0 for cpu in state.cpus))
        found = plan(state, named, vcpus, bandwidth, max_moves=1)
        self.assertEqual(self._shortest(named, vcpus, bandwidth),
                         found if found is None else len(found))
        for move in found or ():
            named = after(move, named)
        if found is not None:
            self.assertTrue(self._fits(named, vcpus, bandwidth))

    def _shortest(self, claims, vcpus, bandwidth):
        """0 or 1 moves, or None, by trying all of them."""
        if self._fits(claims, vcpus, bandwidth):
            return 0
        moves = (planner.Move(name, source, target) for name in claims
                 for source in range(4) for target in range(4))
        tried = (after(move, claims) for move in moves)
        return 1 if any(then and self._fits(then, vcpus, bandwidth)
                        for then in tried) else None

    def _fits(self, claims, vcpus, bandwidth):
        load = [sum(placed.wanted.bandwidth for placed in claims.values()
                    if cpu in placed.cpus) for cpu in range(4)]
        return max(load) <= 500 and sum(
            used + bandwidth <= 500 for used in load) >= vcpus
