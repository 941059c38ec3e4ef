# SPDX-License-Identifier: Apache-2.0

"""Tests r = c * e, and what one server more changes."""

import math

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import neighbours
from rt_models.interference import document
from rt_models.interference import forecast
from rt_models.interference import matrix
from tests.unit import base as unit

SHARED, RESERVED = neighbours.Kind
TYPES = ('I', 'II', 'III', 'IV', 'V')

PUBLISHED = forecast.Model([document.load(document.SHIPPED)])

_SERVERS = st.builds(neighbours.Typed, st.sampled_from(neighbours.Kind),
                     st.sampled_from((*TYPES, 'unknown')))
_HOSTS = st.lists(_SERVERS, max_size=8).map(neighbours.Neighbours.count)
_ROWS = st.fixed_dictionaries({
    target: st.fixed_dictionaries({
        other: st.floats(0.05, 1.2) for other in TYPES})
    for target in TYPES})
_MODELS = st.tuples(_ROWS, _ROWS).map(lambda pair: forecast.Model(
    matrix.Matrix(kind, dict.fromkeys(TYPES, ''), rows, {}, {}, {})
    for kind, rows in zip(neighbours.Kind, pair, strict=True)))


def shared(*types):
    return neighbours.Neighbours.count(
        neighbours.Typed(SHARED, each) for each in types)


def plainly(model, there):
    """Returns the throughput of each server, by the definition."""
    servers = [server for server, count in there.counts
               for _ in range(count)]
    found = {SHARED: 0.0, RESERVED: 0.0}
    for place, target in enumerate(servers):
        found[target.kind] += math.prod(
            model.cell(target, other.type)
            for at, other in enumerate(servers) if at != place)
    return found[SHARED], found[RESERVED]


class ForecastTest(base.BaseTestCase):

    def test_a_pair_of_the_paper(self):
        """Table I: 0.6449 of Snort and 0.6153 of Pktstat are left."""
        self.assertAlmostEqual(0.6449 + 0.6153, PUBLISHED.throughput(
            shared('II', 'III')).at(1.0))

    def test_the_kind_of_the_target_picks_the_file(self):
        there = shared('II').plus(neighbours.Typed(RESERVED, 'III'))
        found = PUBLISHED.throughput(there)
        self.assertEqual((0.6153, 1.0), (found.shared, found.reserved))

    def test_time_that_reservations_leave(self):
        growth = PUBLISHED.growth(shared('II'),
                                  neighbours.Typed(RESERVED, 'III'))
        self.assertAlmostEqual(0.6153 * 0.5 + 1 - 0.8,
                               growth.gain(left=0.8, then=0.5))

    def test_unknown_types_are_neutral(self):
        growth = PUBLISHED.growth(shared('II', 'x'),
                                  neighbours.Typed(SHARED, 'y'))
        self.assertAlmostEqual(1.0, growth.gain(1.0, 1.0))

    def test_nobody_is_sought_for_a_cell_above_1(self):
        """A measured cell above 1 shows only noise."""
        model = forecast.Model([matrix.Matrix(
            SHARED, {'a': ''}, {'a': {'a': 1.2}}, {}, {}, {})])
        self.assertEqual(2.0, model.throughput(shared('a', 'a')).shared)

    def test_the_next_server_counts_in_part(self):
        """A lone I would take throughput from an II that comes next."""
        first, next_ = (neighbours.Typed(SHARED, each)
                        for each in ('I', 'II'))
        growth = PUBLISHED.growth(neighbours.NONE, first)
        loss = 0.935 + 0.576 - 2
        unknown = neighbours.Typed(RESERVED, 'unknown')
        for mix, part in (({next_: 1.0}, 0.6),
                          ({next_: 0.25, unknown: 0.75}, 0.15)):
            self.assertAlmostEqual(1 + part * loss, growth.score(
                growth.ahead(mix, room=True)).at(1.0, 1.0))

    def test_the_last_place_is_what_the_next_would_have_had(self):
        server = neighbours.Typed(SHARED, 'II')
        growth = PUBLISHED.growth(shared('I'), server)
        gain = 0.935 + 0.576 - 1
        self.assertAlmostEqual(gain, growth.gain(1.0, 1.0))
        unknown = neighbours.Typed(SHARED, 'unknown')
        for mix, score in (({server: 1.0}, 0.4 * gain),
                           ({server: 0.4, unknown: 0.6},
                            0.76 * gain - 0.36)):
            self.assertAlmostEqual(score, growth.score(
                growth.ahead(mix, room=False)).at(1.0, 1.0))

    def test_mix(self):
        server = neighbours.Typed(SHARED, 'I')
        found = forecast.mix_of([shared('I', 'II'), None, shared('II')],
                                server)
        self.assertEqual({server: 0.5, neighbours.Typed(SHARED, 'II'): 0.5},
                         found)

    @unit.PROPERTY
    @hypothesis.given(_MODELS, _HOSTS)
    def test_throughput_is_the_sum_over_the_servers(self, model, there):
        found = model.throughput(there)
        for one, other in zip((found.shared, found.reserved),
                              plainly(model, there), strict=True):
            self.assertAlmostEqual(one, other, 9)

    @unit.PROPERTY
    @hypothesis.given(_MODELS, _HOSTS, _SERVERS, _SERVERS,
                      st.floats(0, 1))
    def test_growth_is_a_difference(self, model, there, server, following,
                                    left):
        growth = model.growth(there, server)
        both = there.plus(server)
        sums = [model.throughput(each).at(left) for each in (
            there, both, there.plus(following), both.plus(following))]
        self.assertAlmostEqual(sums[1] - sums[0], growth.gain(left, left), 9)
        for room, ahead in (
                (True, sums[3] - sums[1] - (sums[2] - sums[0])),
                (False, -(sums[2] - sums[0]))):
            found = growth.ahead({following: 1.0}, room)
            self.assertAlmostEqual(ahead, found.at(left), 9)
            self.assertAlmostEqual(
                sums[1] - sums[0] + forecast.LOOK_AHEAD * ahead,
                growth.score(found).at(left, left), 9)

    @unit.PROPERTY
    @hypothesis.given(st.floats(-100, 3), st.floats(-100, 3))
    def test_weights_keep_the_order(self, one, other):
        low, high = sorted((one, other))
        self.assertLessEqual(forecast.weight(low), forecast.weight(high))
        self.assertTrue(0 < forecast.weight(one) <= 1)
        if high <= 1 and high - low > 1e-6:
            self.assertLess(forecast.weight(low), forecast.weight(high))

    def test_weight_of_a_good_host_is_the_gain(self):
        self.assertEqual(0.75, forecast.weight(0.75))
        self.assertEqual(0.25, forecast.weight(0.0))
