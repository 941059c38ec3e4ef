# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.servers: numbers for servers that come and go."""

import struct
import unittest

import hypothesis
from hypothesis import strategies as st

from rt_monitor import servers
from tests.unit import base


def server(number, vcpus=0):
    first = 10_000 * number
    return servers.Watched(f'uuid-{number}', {
        servers.WHOLE: first, **{v: first + v + 1 for v in range(vcpus)}})


def groups_of(change, before):
    """The programs' map of groups after a change."""
    found = {key: value for key, value in before.items()
             if key not in change.remove}
    return {**found, **change.put}


SETS = st.lists(st.dictionaries(st.integers(1, 400), st.integers(0, 4),
                                max_size=300), max_size=4)


class RegisterTest(unittest.TestCase):

    def test_one(self):
        register = servers.Register()
        change = register.update([server(1, 2)])
        place = register.places['uuid-1']
        self.assertEqual({servers.WHOLE, 0, 1}, set(place.lanes))
        self.assertEqual(struct.pack('=II', place.lanes[1], place.index),
                         change.put[struct.pack('=Q', 10_002)])
        self.assertEqual((place.index,), change.servers)
        self.assertEqual({*place.lanes.values()}, {*change.lanes})

    def test_the_same_again(self):
        register = servers.Register()
        register.update([server(1, 2)])
        self.assertEqual(servers.Change({}, (), (), ()),
                         register.update([server(1, 2)]))

    def test_a_uuid_in_another_group_goes_on(self):
        register = servers.Register()
        register.update([server(1)])
        moved = servers.Watched('uuid-1', {servers.WHOLE: 77})
        change = register.update([moved])
        self.assertEqual([struct.pack('=Q', 77)], [*change.put])
        self.assertEqual((struct.pack('=Q', 10_000),), change.remove)
        self.assertEqual((), change.servers)

    def test_beyond_the_bounds(self):
        register = servers.Register()
        many = servers.SERVERS + 3
        change = register.update(map(server, range(1, many + 1)))
        self.assertEqual(3, register.beyond)
        other = struct.pack('=II', servers.OTHER, servers.OTHER)
        self.assertEqual(3, [*change.put.values()].count(other))
        # One of them gets the place of one that ends.
        change = register.update(map(server, range(2, many + 1)))
        self.assertEqual(2, register.beyond)
        self.assertEqual(1, len(change.put))

    def test_many_vcpus(self):
        register = servers.Register()
        register.update(server(each, 300) for each in range(1, 6))
        self.assertEqual(2, register.beyond)

    def test_numbers_are_used_again_late(self):
        register = servers.Register()
        register.update([server(1)])
        before = register.places['uuid-1']
        register.update([server(2)])
        register.update([server(3)])
        self.assertNotEqual(before.index, register.places['uuid-3'].index)

    @hypothesis.given(SETS)
    @base.PROPERTY
    def test_any_sequence(self, sets):
        register, groups = servers.Register(), {}
        for found in sets:
            change = register.update(
                server(number, vcpus) for number, vcpus in found.items())
            groups = groups_of(change, groups)
            places = [*register.places.values()]
            lanes = [lane for place in places
                     for lane in place.lanes.values()]
            self.assertEqual(len(lanes), len({*lanes}))
            self.assertEqual(len(places), len({p.index for p in places}))
            self.assertEqual(len(found), len(places) + register.beyond)
            self.assertEqual(sum(vcpus + 1 for vcpus in found.values()),
                             len(groups))
            self.assertTrue(all(
                servers.OTHER < place.index < servers.SERVERS + 2
                for place in places))
