# SPDX-License-Identifier: Apache-2.0

"""Tests pCPUs in the cells that a server gets."""

import itertools

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules import numa
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

HALF = reservation.Reservation(50_000, 100_000)
CELLS = {0: {0, 1}, 1: {2, 3}}


def state(*used, cap=950_000):
    return cpus.CpuBandwidth(tuple(range(len(used))), cap, used)


class NumaTest(base.BaseTestCase):

    def test_room(self):
        self.assertEqual({0: 1, 1: 2}, numa.room(
            state(500_000, 0, 100_000, 400_000), HALF, CELLS))

    def test_pcpus_that_take_no_reservations(self):
        self.assertEqual({0: 2, 1: 0}, numa.room(state(0, 0), HALF, CELLS))

    def test_room_everywhere(self):
        for free, server, everywhere in (
                ({0: 2, 1: 2}, [{0, 1}], True),
                ({0: 1, 1: 2}, [{0, 1}], False),
                ({0: 1, 1: 2}, [{0}, {1, 2}], False),
                ({0: 0, 1: 0}, [set()], True)):
            self.assertEqual(everywhere,
                             numa.has_everywhere(free, server))

    def test_able(self):
        self.assertEqual([[1], [0, 1]], numa.able(
            {0: 1, 1: 2}, [{0, 1}, {2}]))

    def test_choose(self):
        asked = []

        def accepts(cells):
            asked.append(cells)
            return 3 in cells

        self.assertEqual((0, 3), numa.choose([[0, 1], [0, 1, 3]], accepts))
        self.assertEqual([{0, 1}, {0, 3}], asked)
        self.assertIsNone(numa.choose([[0], [0]], accepts))
        self.assertIsNone(numa.choose([[0, 1], []], accepts))

    def test_a_way(self):
        self.assertTrue(numa.has_way([[0, 1], [0]]))
        self.assertFalse(numa.has_way([[0, 1], [0], [1]]))
        self.assertFalse(numa.has_way([[0, 1], [0]], taken=(1,)))
        self.assertTrue(numa.has_way([]))

    def test_cells_that_are_alike_are_tried_once(self):
        """There are 518,918,400 orders of 8 among 16 cells."""
        asked = []

        def accepts(cells):
            asked.append(cells)
            return False

        every = [list(range(16))] * 8
        self.assertIsNone(numa.choose(
            every, accepts, {cell: cell == 3 for cell in range(16)}))
        self.assertEqual([False, True], sorted(3 in cells
                                               for cells in asked))
        self.assertIsNone(numa.choose([list(range(7))] * 8, accepts))
        self.assertEqual(2, len(asked))

    @hypothesis.settings(deadline=None, database=None)
    @hypothesis.given(
        candidates=st.lists(st.lists(st.integers(0, 5), unique=True),
                            min_size=1, max_size=4),
        kinds=st.lists(st.integers(0, 2), min_size=6, max_size=6),
        closed=st.sets(st.lists(st.integers(0, 2), max_size=4).map(
            lambda some: tuple(sorted(some)))))
    def test_a_way_is_found_if_there_is_one(self, candidates, kinds, closed):
        def accepts(cells):
            return tuple(sorted(kinds[cell] for cell in cells)) not in closed

        found = numa.choose(candidates, accepts, dict(enumerate(kinds)))
        ways = [order for order in itertools.product(*candidates)
                if len(set(order)) == len(order)]
        self.assertEqual(bool(ways), numa.has_way(candidates))
        ways = [order for order in ways if accepts(order)]
        self.assertEqual(bool(ways), found is not None)
        self.assertTrue(found is None or found in ways)

    def test_fit(self):
        """The order is that of the vCPUs, not that of the cells."""
        found = numa.fit(state(0, 0, 500_000, 0), HALF, policies.first_fit,
                         [CELLS[1], CELLS[0]], [{1}, {2, 0}])
        self.assertEqual((0, 3, 1), found)
        self.assertIsNone(numa.fit(
            state(0, 0, 500_000, 0), HALF, policies.first_fit, [CELLS[1]],
            [{0, 1}]))

    def test_a_cell_without_reserved_vcpus(self):
        self.assertEqual((0,), numa.fit(
            state(0, 0, 0, 0), HALF, policies.first_fit,
            [CELLS[1], CELLS[0]], [set(), {1}]))

    @hypothesis.settings(deadline=None, database=None)
    @hypothesis.given(
        used=st.lists(st.integers(0, 10), min_size=8, max_size=8),
        needs=st.lists(st.integers(0, 3), min_size=1, max_size=4),
        closed=st.sets(st.frozensets(st.integers(0, 3), max_size=4)))
    def test_whatever_fits_is_found(self, used, needs, closed):
        """An exact search says what fits: it tries all orders of cells."""
        host = {cell: {2 * cell, 2 * cell + 1} for cell in range(4)}
        now = state(*(each * 100_000 for each in used))
        numbers = itertools.count()
        server = [{next(numbers) for _ in range(need)} for need in needs]
        fits = any(
            frozenset(order) not in closed and all(
                sum(now.free(cpu) >= HALF.bandwidth for cpu in host[cell])
                >= need for cell, need in zip(order, needs, strict=True))
            for order in itertools.permutations(host, len(needs)))
        order = numa.choose(
            numa.able(numa.room(now, HALF, host), server),
            lambda cells: cells not in closed)
        self.assertEqual(fits, order is not None)
        if order is None:
            return
        found = numa.fit(now, HALF, policies.worst_fit,
                         [host[cell] for cell in order], server)
        self.assertEqual(len(found), len(set(found)))
        places = dict(enumerate(found))
        for cell, vcpus in zip(order, server, strict=True):
            self.assertLessEqual({places[vcpu] for vcpu in vcpus},
                                 host[cell])
        self.assertTrue(all(now.free(cpu) >= HALF.bandwidth
                            for cpu in found))
