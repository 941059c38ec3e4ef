# SPDX-License-Identifier: Apache-2.0

"""Tests the map of a host as text, and back."""

import dataclasses
import json

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from tests.unit import base as unit

GOOD = ('{"version":1,"cpus":"3","used":[0],"cap":1,"charged":0,'
        '"replicated":false,"policy":"x"}')

_STATES = st.dictionaries(
    st.integers(0, 40), st.integers(0, 1_000_000)).flatmap(
        lambda used: st.builds(
            cpus.CpuBandwidth, st.just(tuple(sorted(used))),
            st.integers(0, 1_000_000),
            st.just(tuple(used[cpu] for cpu in sorted(used))),
            st.integers(0, 9_000_000), st.booleans()))
_HOSTS = st.builds(
    cpus.CpuBandwidth.empty, st.sets(st.integers(0, 7), min_size=1),
    st.integers(1, 1_000_000) | st.just(950_000), st.booleans())
#: Servers as (vCPUs, ppm on each): enough to fill some hosts to the last ppm.
_SERVERS = st.lists(st.tuples(
    st.integers(1, 4) | st.integers(1, 9),
    st.integers(1, 20).map(lambda part: 50_000 * part)
    | st.integers(1, 1_000_000)), min_size=5, max_size=20)
_POLICIES = st.sampled_from(
    (policies.worst_fit, policies.best_fit, policies.first_fit))


class Placement:
    """Placement's rules for one provider."""

    def __init__(self, inventories):
        self.inventories = inventories
        self.used = dict.fromkeys(inventories, 0)

    def offers(self, amounts):
        return all(self._has(name, amount, self.inventories[name])
                   for name, amount in amounts.items())

    def _has(self, name, amount, found):
        room = found['total'] - found['reserved'] - self.used[name]
        return (found['min_unit'] <= amount <= found['max_unit']
                and amount <= room)

    def add(self, amounts, sign=1):
        for name, amount in amounts.items():
            self.used[name] += sign * amount


class Host:
    """Claims on a host, and what Placement knows of them."""

    def __init__(self, empty, policy):
        self.state, self.policy = empty, policy
        self.placement = Placement(hostmap.inventories(empty))
        self.claims = []

    def claim(self, vcpus, bandwidth):
        wanted = unit.share(bandwidth)
        chosen = cpus.fit(self.state, vcpus, wanted, self.policy)
        if chosen is not None:
            self.state = self.state.claim(chosen, wanted)
            self.placement.add(hostmap.amounts(vcpus, bandwidth))
            self.claims.append((chosen, bandwidth))

    def release(self, number):
        chosen, bandwidth = self.claims.pop(number)
        self.state = self.state.release(chosen, unit.share(bandwidth))
        self.placement.add(hostmap.amounts(len(chosen), bandwidth), -1)


class HostMapTest(base.BaseTestCase):

    def test_text(self):
        state = cpus.CpuBandwidth((1, 3), 950_000, (0, 500_000), 500_000)
        self.assertEqual(
            {'rt_share': '1.900', 'rt_share_used': '0.500',
             'rt_map': '{"version":1,"cpus":"1,3","used":[0,500000],'
                       '"cap":950000,"charged":500000,"replicated":false,'
                       '"policy":"best_fit"}'},
            hostmap.to_stats(hostmap.HostMap(state, 'best_fit')))

    def test_what_a_host_takes(self):
        state = cpus.CpuBandwidth.empty((0,), 950_000)
        named = hostmap.HostMap(state, 'best_fit', takes=frozenset('ba'))
        stats = hostmap.to_stats(named)
        self.assertTrue(stats['rt_map'].endswith(',"takes":["a","b"]}'))
        self.assertEqual(named, hostmap.from_stats(stats))
        self.assertEqual(frozenset(), hostmap.from_stats(
            {'rt_map': GOOD}).takes)

    def test_siblings(self):
        state = dataclasses.replace(
            cpus.CpuBandwidth.empty(range(4), 950_000),
            cores=(0, 0, 2, 2), smt=cpus.Smt.CORE)
        stats = hostmap.to_stats(hostmap.HostMap(state, 'worst_fit'))
        self.assertIn('"smt":"core","cores":[0,0,2,2]', stats['rt_map'])
        self.assertEqual('1.900', stats['rt_share'])
        self.assertEqual(state, hostmap.from_stats(stats).state)
        for bad in ({'cores': [0]}, {'smt': 'x'}, {'cores': 'ab'}):
            self.assertIsNone(hostmap.from_stats({'rt_map': json.dumps(
                json.loads(stats['rt_map']) | bad)}))
        for offered in hostmap.inventories(state).values():
            self.assertEqual((2_000_000, 100_000), (
                offered['total'], offered['reserved']))

    def test_siblings_that_are_ignored_are_not_published(self):
        state = dataclasses.replace(
            cpus.CpuBandwidth.empty(range(2), 1), cores=(0, 0))
        self.assertNotIn('cores', hostmap.to_stats(
            hostmap.HostMap(state, 'worst_fit'))['rt_map'])

    def test_the_release(self):
        """The release is for people, and changes nothing else."""
        state = cpus.CpuBandwidth.empty((0, 1), 950_000)
        named = hostmap.HostMap(state, 'best_fit', release='0.1.0')
        stats = hostmap.to_stats(named)
        self.assertIn(',"release":"0.1.0"', stats['rt_map'])
        found = hostmap.from_stats(stats)
        self.assertEqual(('0.1.0', named), (found.release, found))
        self.assertEqual(hostmap.HostMap(state, 'best_fit'), found)
        self.assertEqual('', hostmap.from_stats({'rt_map': GOOD}).release)

    def test_the_shortest_runtime(self):
        """Schedulers refuse what the kernel may not be given."""
        empty = cpus.CpuBandwidth.empty((0, 1), 950_000, min_runtime_us=4000)
        found = hostmap.from_stats(hostmap.to_stats(
            hostmap.HostMap(empty, 'worst_fit')))
        self.assertEqual(empty, found.state)

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
                      {'rt_map': GOOD.replace('"3"', '[3]')},
                      {'rt_map': GOOD.replace('"3"', '3')}):
            self.assertIsNone(hostmap.from_stats(stats))
        self.assertIsNotNone(hostmap.from_stats({'rt_map': GOOD}))

    def test_other_versions(self):
        for other in ('"version":2,', '"version":"1",', ''):
            self.assertIsNone(hostmap.from_stats(
                {'rt_map': GOOD.replace('"version":1,', other)}))

    def test_new_key_of_the_same_version(self):
        self.assertEqual(
            hostmap.from_stats({'rt_map': GOOD}),
            hostmap.from_stats({'rt_map': GOOD[:-1] + ',"new":{"x":[1]}}'}))

    FIXED = GOOD[:-1] + ',"fixed":[48,4000,10000],"servers":%s}'

    def test_text_of_a_host_without_edf(self):
        one, other = (reservation.Reservation(30_000, period)
                      for period in (100_000, 300_000))
        stats = hostmap.to_stats(unit.fixed_map(
            ((0, 1), one), ((1,), one), ((0,), other)))
        self.assertIn(
            '"fixed":[48,4000,10000],"servers":[[30000,100000,'
            '[0,1,1]],[30000,300000,[0]]]', stats['rt_map'])
        self.assertIn('"version":1', stats['rt_map'])

    def test_servers_that_do_not_add_up(self):
        read = hostmap.from_stats
        self.assertIsNotNone(read({'rt_map': self.FIXED % '[[1,2,[3]]]'}))
        for bad in ('[[1,2,[4]]]', '[[1,2]]', '[[1,2,3]]', '[["1",2,[3]]]',
                    '[[0,2,[3]]]', '[[1,0,[3]]]', '[[1,2,["3"]]]', '7'):
            self.assertIsNone(read({'rt_map': self.FIXED % bad}), bad)
        self.assertIsNone(read({'rt_map': GOOD[:-1] + ',"fixed":[48,1,1]}'
                                }))
        for bad in ('[0,4,4]', '[48,-1,4]', '[48,4]', '[]', '7', '"x"',
                    'null', '["a",1,1]'):
            self.assertIsNone(read({'rt_map': (self.FIXED % '[]').replace(
                '[48,4000,10000]', bad)}), bad)

    def test_more_reservations_than_the_column_holds(self):
        many = [((0,), reservation.Reservation(2, 4_000_000 + n))
                for n in range(4000)]
        stats = hostmap.to_stats(unit.fixed_map(*many))
        self.assertLess(len(stats['rt_map']), 1000)
        self.assertEqual((), hostmap.from_stats(stats).state.cpus)

    def test_a_host_that_divides(self):
        host = unit.fixed_map(((0,), reservation.Reservation(3, 10)))
        divides = dataclasses.replace(host, state=dataclasses.replace(
            host.state, min_divided_us=100))
        stats = hostmap.to_stats(divides)
        self.assertIn('"min_divided_us":100', stats['rt_map'])
        self.assertEqual(divides, hostmap.from_stats(stats))
        self.assertNotIn('min_divided_us', hostmap.to_stats(host)['rt_map'])

    @hypothesis.given(st.lists(st.tuples(
        st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True),
        st.builds(reservation.Reservation, st.integers(1, 3),
                  st.integers(3, 6))), max_size=9))
    @unit.PROPERTY
    def test_round_trip_without_edf(self, claims):
        host = unit.fixed_map(*claims, pcpus=6)
        self.assertEqual(host, hostmap.from_stats(hostmap.to_stats(host)))

    @hypothesis.given(_STATES, st.text())
    @unit.PROPERTY
    def test_round_trip(self, state, policy):
        stats = hostmap.to_stats(hostmap.HostMap(state, policy))
        self.assertEqual(hostmap.HostMap(state, policy),
                         hostmap.from_stats(stats))


class StrangersTest(base.BaseTestCase):
    """Tests what the state counts in addition to claims."""

    one = hostmap.Stranger('uuid', 'instance-7', (
        ((0, 2), reservation.Reservation(10, 100)),
        ((1,), reservation.Reservation(20, 100))))

    def test_round_trip(self):
        host = hostmap.HostMap(cpus.CpuBandwidth.empty(
            range(4), 950_000).fold(self.one.shares), 'worst_fit', (self.one,))
        stats = hostmap.to_stats(host)
        self.assertEqual(host, hostmap.from_stats(stats))
        self.assertEqual('0.400', stats[hostmap.SHARE_USED])

    def test_those_that_are_elsewhere(self):
        """A key of its own: older readers know three values of each."""
        host = hostmap.HostMap(cpus.CpuBandwidth.empty((0,), 1), 'x', (
            self.one, dataclasses.replace(self.one, uuid='other',
                                          elsewhere='on host7')))
        stats = hostmap.to_stats(host)
        self.assertEqual(host, hostmap.from_stats(stats))
        found = json.loads(stats[hostmap.MAP])
        self.assertEqual({'other': 'on host7'}, found['elsewhere'])
        self.assertEqual([3, 3], [len(each) for each in found['strangers']])
        self.assertIsNone(hostmap.from_stats({hostmap.MAP: json.dumps(
            found | {'elsewhere': [7]})}))

    def test_no_key_without_any(self):
        self.assertNotIn('elsewhere', hostmap.to_stats(hostmap.HostMap(
            cpus.CpuBandwidth.empty((0,), 1), 'x', (self.one,)))[hostmap.MAP])
        self.assertNotIn('strangers', hostmap.to_stats(hostmap.HostMap(
            cpus.CpuBandwidth.empty((0,), 1), 'x'))[hostmap.MAP])

    def test_a_long_name_is_cut(self):
        long = hostmap.Stranger('u', 'n' * 999, self.one.shares)
        stats = hostmap.to_stats(hostmap.HostMap(
            cpus.CpuBandwidth.empty((0,), 1), 'x', (long,)))
        self.assertLess(len(stats[hostmap.MAP]), 300)

    def test_damaged(self):
        good = hostmap.to_stats(hostmap.HostMap(
            cpus.CpuBandwidth.empty((0,), 1), 'x', (self.one,)))
        for bad in ('[7]', '{"a":1}', '[["u","n",[[9,0,[0]]]]]', '7'):
            found = json.loads(good[hostmap.MAP]) | {
                'strangers': json.loads(bad)}
            self.assertIsNone(hostmap.from_stats(
                {hostmap.MAP: json.dumps(found)}), bad)

    def test_they_are_not_offered(self):
        empty = cpus.CpuBandwidth.empty(range(4), 950_000)
        found = hostmap.inventories(empty, [self.one])
        self.assertEqual([200_000 + 400_000, 200_000 + 300_000], [
            found[name]['reserved'] for name in hostmap.CLASSES])

    def test_never_more_than_there_is(self):
        """The cap was lowered since."""
        empty = cpus.CpuBandwidth.empty((0,), 100_000, True)
        for each in hostmap.inventories(empty, [self.one] * 9).values():
            self.assertEqual(each['total'], each['reserved'])


class PlacementTest(base.BaseTestCase):
    """The two sums that Placement gets in addition to the fit function."""

    def inventories(self, replicated, pcpus=4):
        return hostmap.inventories(cpus.CpuBandwidth.empty(
            range(pcpus), 950_000, replicated))

    def test_a_pool_for_each_pcpu(self):
        common = {'total': 4_000_000, 'reserved': 200_000, 'min_unit': 1,
                  'step_size': 1, 'allocation_ratio': 1.0}
        self.assertEqual(
            {'CUSTOM_RT_BANDWIDTH': common | {'max_unit': 3_800_000},
             'CUSTOM_RT_SHARE': common | {'max_unit': 950_000}},
            self.inventories(False))

    def test_one_pool_where_every_pcpu_is_charged(self):
        found = self.inventories(True)
        self.assertEqual(
            {'total': 1_000_000, 'reserved': 50_000, 'min_unit': 1,
             'max_unit': 950_000, 'step_size': 1, 'allocation_ratio': 1.0},
            found['CUSTOM_RT_SHARE'])
        self.assertEqual(self.inventories(False)['CUSTOM_RT_BANDWIDTH'],
                         found['CUSTOM_RT_BANDWIDTH'])

    def test_amounts(self):
        self.assertEqual(
            {'CUSTOM_RT_BANDWIDTH': 1_000_002, 'CUSTOM_RT_SHARE': 333_334},
            hostmap.amounts(3, 333_334))

    @hypothesis.given(st.integers(1, 2000), st.integers(1, 1_000_000),
                      st.booleans())
    @unit.PROPERTY
    def test_placement_takes_the_inventories(self, pcpus, cap, replicated):
        found = hostmap.inventories(
            cpus.CpuBandwidth.empty(range(pcpus), cap, replicated))
        self.assertEqual(set(hostmap.CLASSES), set(found))
        for each in found.values():
            # Its integers have 31 bits.
            self.assertLess(each['total'], 1 << 31)
            self.assertGreaterEqual(each['reserved'], 0)
            self.assertLessEqual(each['max_unit'],
                                 each['total'] - each['reserved'])
            self.assertLessEqual(1, each['min_unit'])
            self.assertLessEqual(each['min_unit'], each['max_unit'])

    @hypothesis.given(_HOSTS, _SERVERS, _POLICIES, st.data())
    @unit.PROPERTY
    def test_never_refuses_what_fits(self, empty, servers, policy, data):
        """On a replicated host, the sum refuses the same as the fit."""
        host = Host(empty, policy)
        for vcpus, bandwidth in servers:
            fits = cpus.fits(host.state, vcpus, unit.share(bandwidth))
            offered = host.placement.offers(
                hostmap.amounts(vcpus, bandwidth))
            if fits:
                self.assertTrue(offered)
            if empty.replicated and vcpus <= len(empty.cpus):
                self.assertEqual(fits, offered)
            host.claim(vcpus, bandwidth)
            if host.claims and data.draw(st.integers(0, 3)) == 3:
                host.release(data.draw(
                    st.integers(0, len(host.claims) - 1)))

    @hypothesis.given(_HOSTS, _SERVERS, _POLICIES)
    @unit.PROPERTY
    def test_shares_do_not_bind_before_the_sum(self, empty, servers, policy):
        hypothesis.assume(not empty.replicated)
        host = Host(empty, policy)
        for vcpus, bandwidth in servers:
            host.claim(vcpus, bandwidth)
            left = {name: each['total'] - each['reserved']
                    - host.placement.used[name]
                    for name, each in host.placement.inventories.items()}
            self.assertLessEqual(left[hostmap.RESOURCE_CLASS],
                                 left[hostmap.SHARE_CLASS])
