# SPDX-License-Identifier: Apache-2.0

"""Tests the moves that gather free bandwidth."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import consolidation
from nova_rt.rules.packing import planner
from tests.unit import base as unit

CAP = 950_000

_CLAIMS = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=3,
                       unique=True).map(tuple),
              st.sampled_from((50, 100, 200, 300, 400))), max_size=7)


def placed(cpus, ppm, *within):
    return arrangement.Placed(cpus, unit.share(ppm), within)


def host(claims, cap=CAP):
    return cpus.CpuBandwidth.empty(range(4), cap).fold(
        (claim.cpus, claim.wanted) for claim in claims.values())


def squares(state):
    return sum(state.free(cpu) ** 2 for cpu in state.cpus)


class ConsolidationTest(base.BaseTestCase):

    def test_the_best_move(self):
        """The emptiest pCPU becomes empty, on the fullest with room."""
        claims = {'a': placed((0,), 500_000), 'b': placed((1,), 400_000),
                  'c': placed((2,), 300_000)}
        self.assertEqual((arrangement.Move('b', 1, 0),),
                         consolidation.plan(host(claims), claims, 1))
        self.assertEqual(1, len(consolidation.plan(host(claims), claims, 2)))
        self.assertEqual((), consolidation.plan(host(claims), claims, 0))

    def test_siblings_stay_apart(self):
        claims = {'a': placed((0, 1), 300_000)}
        self.assertEqual((), consolidation.plan(host(claims), claims, 2))

    def test_cells(self):
        cells = frozenset({0, 1}), frozenset({2, 3})
        claims = {'a': placed((0,), 500_000, cells[0]),
                  'b': placed((2,), 400_000, cells[1])}
        self.assertEqual((), consolidation.plan(host(claims), claims, 2))

    def test_a_source_outside_of_the_option(self):
        claims = {'a': placed((7,), 500_000), 'b': placed((2,), 100_000)}
        self.assertEqual((), consolidation.plan(host(claims), claims, 2))

    def test_replicated(self):
        claims = {'a': placed((0,), 100_000), 'b': placed((2,), 100_000)}
        state = dataclasses.replace(host(claims), replicated=True)
        self.assertEqual((), consolidation.plan(state, claims, 2))

    def test_threads_of_a_core(self):
        """A move within a core gathers nothing."""
        claims = {'a': placed((0,), 400_000), 'b': placed((1,), 300_000)}
        cores = dataclasses.replace(host(claims), cores=(0, 0, 1, 1),
                                    smt=cpus.Smt.CORE)
        self.assertEqual((), consolidation.plan(cores, claims, 2))
        claims = {'a': placed((0,), 400_000), 'b': placed((3,), 300_000)}
        cores = dataclasses.replace(host(claims), cores=(0, 0, 1, 1),
                                    smt=cpus.Smt.CORE)
        (move,) = consolidation.plan(cores, claims, 2)
        self.assertEqual(('b', 3), (move.claim, move.source))

    @hypothesis.given(_CLAIMS, st.integers(0, 4))
    def test_each_move(self, requests, most):
        """Each move fits, gathers, and stays below the cap."""
        claims = {str(number): placed(chosen, thousands * 1000)
                  for number, (chosen, thousands) in enumerate(requests)}
        state = host(claims)
        moves = consolidation.plan(state, claims, most)
        self.assertLessEqual(len(moves), most)
        for move in moves:
            # place() raises for a move without room.
            after, claims = planner.place(state, claims, (move,))
            self.assertGreater(squares(after), squares(state))
            self.assertEqual(after, host(claims))
            full = [cpu for cpu in after.cpus if after.free(cpu) < 0
                    and after.free(cpu) < state.free(cpu)]
            self.assertEqual([], full)
            for claim in claims.values():
                self.assertEqual(len(claim.cpus), len({*claim.cpus}))
            state = after
        if len(moves) < most:
            self.assertEqual((), consolidation.plan(state, claims, 1))

    @hypothesis.given(_CLAIMS)
    def test_it_is_the_best_move(self, requests):
        claims = {str(number): placed(chosen, thousands * 1000)
                  for number, (chosen, thousands) in enumerate(requests)}
        state = host(claims)
        best = max((squares(planner.place(state, claims, (move,))[0])
                    for move in every(state, claims)), default=0)
        found = consolidation.plan(state, claims, 1)
        if best > squares(state):
            self.assertEqual(best, squares(
                planner.place(state, claims, found)[0]))
        else:
            self.assertEqual((), found)


def every(state, claims):
    """All moves that have room."""
    for name, claim in claims.items():
        for source in set(claim.cpus) & set(state.cpus):
            for target in set(state.cpus) - set(claim.cpus):
                if state.free(target) >= claim.wanted.bandwidth:
                    yield arrangement.Move(name, source, target)
