# SPDX-License-Identifier: Apache-2.0

import dataclasses
import unittest

import hypothesis
from hypothesis import strategies

from nova_rt.rules import cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import room
from tests.unit import base


def placed(state, vcpus, wanted):
    """Returns how many servers worst_fit places one after the other."""
    for number in range(10_000):
        chosen = cpus.fit(state, vcpus, wanted, policies.worst_fit)
        if chosen is None:
            return number
        state = state.claim(chosen, wanted)
    raise AssertionError('no end')


class CountTest(unittest.TestCase):

    @hypothesis.given(
        strategies.lists(strategies.integers(0, 1_000_000), min_size=1,
                         max_size=8),
        strategies.integers(1, 9), strategies.integers(20_000, 1_000_000),
        strategies.booleans())
    @base.PROPERTY
    def test_as_many_as_worst_fit_places(self, used, vcpus, ppm, replicated):
        state = base.host_map(
            used, replicated=replicated, charged=max(used)).state
        self.assertEqual(placed(state, vcpus, base.share(ppm)),
                         room.count(state, vcpus, base.share(ppm)))

    @hypothesis.given(
        strategies.lists(strategies.integers(0, 500_000), min_size=1,
                         max_size=8),
        strategies.integers(1, 9), strategies.integers(20_000, 1_000_000),
        strategies.integers(1, 3))
    @base.PROPERTY
    def test_where_siblings_have_one_sum(self, used, vcpus, ppm, threads):
        state = dataclasses.replace(
            base.host_map(used).state, smt=cpus.Smt.CORE,
            cores=tuple(cpu // threads for cpu in range(len(used))))
        self.assertEqual(placed(state, vcpus, base.share(ppm)),
                         room.count(state, vcpus, base.share(ppm)))

    def test_by_a_rule(self):
        state = base.fixed_map(pcpus=3).state
        wanted = base.reservation.Reservation(20_000, 100_000)
        self.assertEqual(placed(state, 2, wanted),
                         room.count(state, 2, wanted))

    def test_nothing_for_no_vcpus(self):
        self.assertEqual(0, room.count(base.host_map([0]).state, 0,
                                       base.share(1)))
