# SPDX-License-Identifier: Apache-2.0

"""Tests the type of a server, from its instance."""

from nova_rt.rules import neighbours as rt_neighbours
from nova_rt.services.compute import neighbours
from tests.unit import base

TYPED = {'hw:cpu.vnf_type': 'II'}


class ServerTest(base.TestCase):

    def of(self, specs, hints=None):
        server = base.instance(specs)
        neighbours.note_hints(server, hints)
        return neighbours.server_of(server, server.flavor)

    def test_flavor(self):
        self.assertEqual((rt_neighbours.Kind.SHARED, 'II'), self.of(TYPED))
        self.assertEqual((rt_neighbours.Kind.RESERVED, 'II'), self.of(
            TYPED | base.extra_specs(500, 1000)))

    def test_hint_wins(self):
        self.assertEqual((rt_neighbours.Kind.SHARED, 'nat'),
                         self.of(TYPED, {'cpu.vnf_type': ['nat']}))

    def test_bad_hints_are_not_noted(self):
        for bad in ([], ['a', 'b'], ['a b'], ['x' * 33], [None], None):
            self.assertEqual((rt_neighbours.Kind.SHARED, 'II'),
                             self.of(TYPED, {'cpu.vnf_type': bad}))
        self.assertIsNone(self.of({}, None))

    def test_bad_flavor(self):
        self.assertIsNone(self.of({'hw:cpu.vnf_type': 'a b'}))

    def test_a_reservation_that_makes_no_sense_is_one(self):
        self.assertEqual((rt_neighbours.Kind.RESERVED, 'II'), self.of(
            TYPED | {'hw:cpu.rt_runtime_us': 'x'}))
