# SPDX-License-Identifier: Apache-2.0

"""What is tested here: the map of a host as text, and back."""

import json

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt import cpus
from nova_rt import hostmap
from tests.unit import base as unit

GOOD = ('{"cpus":"3","used":[0],"cap":1,"charged":0,'
        '"replicated":false,"policy":"x"}')

_STATES = st.dictionaries(
    st.integers(0, 40), st.integers(0, 1_000_000)).flatmap(
        lambda used: st.builds(
            cpus.CpuBandwidth, st.just(tuple(sorted(used))),
            st.integers(0, 1_000_000),
            st.just(tuple(used[cpu] for cpu in sorted(used))),
            st.integers(0, 9_000_000), st.booleans()))


class HostMapTest(base.BaseTestCase):

    def test_text(self):
        state = cpus.CpuBandwidth((1, 3), 950_000, (0, 500_000), 500_000)
        self.assertEqual(
            {'rt_share': '1.900', 'rt_share_used': '0.500',
             'rt_map': '{"cpus":"1,3","used":[0,500000],"cap":950000,'
                       '"charged":500000,"replicated":false,'
                       '"policy":"best_fit"}'},
            hostmap.to_stats(hostmap.HostMap(state, 'best_fit')))

    def test_types_that_do_not_add_up(self):
        for bad in ('["x"]', '[null]', '"0"', '[[0]]'):
            self.assertIsNone(hostmap.from_stats(
                {'rt_map': GOOD.replace('[0]', bad)}))
        self.assertIsNone(hostmap.from_stats(
            {'rt_map': GOOD.replace('"cap":1', '"cap":"1"')}))

    def test_deep_json(self):
        self.assertIsNone(hostmap.from_stats({'rt_map': '[' * 60000}))

    def test_host_that_takes_nothing(self):
        stats = hostmap.to_stats(unit.host_map([], cap=0))
        self.assertEqual('0.000', stats['rt_share'])
        self.assertEqual((), hostmap.from_stats(stats).state.cpus)

    def test_largest_host_fits_the_column(self):
        stats = hostmap.to_stats(unit.host_map([950_000] * 512))
        self.assertLess(len(json.dumps(stats)), 8192)

    def test_no_map_of_ours(self):
        for stats in ({}, {'rt_map': None}, {'rt_map': ''},
                      {'rt_map': '[]'}, {'rt_map': '7'}, {'rt_map': '{'},
                      {'rt_map': '{"cap":1,"used":[0]}'},
                      {'rt_map': GOOD.replace('[0]', '7')},
                      {'rt_map': GOOD.replace('[0]', '[0,0]')},
                      {'rt_map': GOOD.replace('"3"', '"x"')},
                      {'rt_map': GOOD.replace('"3"', '[3]')}):
            self.assertIsNone(hostmap.from_stats(stats))
        self.assertIsNotNone(hostmap.from_stats({'rt_map': GOOD}))

    @hypothesis.given(_STATES, st.text())
    @unit.PROPERTY
    def test_round_trip(self, state, policy):
        stats = hostmap.to_stats(hostmap.HostMap(state, policy))
        self.assertEqual(hostmap.HostMap(state, policy),
                         hostmap.from_stats(stats))
