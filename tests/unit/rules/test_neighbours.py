# SPDX-License-Identifier: Apache-2.0

"""Tests who runs on a host, as text and back."""

import ddt
import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import neighbours
from tests.unit import base as unit

SERVERS = st.builds(neighbours.Typed, st.sampled_from(neighbours.Kind),
                    st.from_regex(r'\A[A-Za-z0-9_.-]{1,32}\Z'))


def decoded(text):
    return neighbours.from_stats({neighbours.KEY: text})


@ddt.ddt
class NeighboursTest(base.BaseTestCase):

    def test_text(self):
        shared, reserved = neighbours.Kind
        found = neighbours.Neighbours.count([
            neighbours.Typed(shared, 'II'), neighbours.Typed(reserved, 'I'),
            neighbours.Typed(shared, 'II')])
        text = '{"version":1,"shared":{"II":2},"reserved":{"I":1}}'
        self.assertEqual(text, neighbours.to_text(found))
        self.assertEqual(found, decoded(text))

    def test_none(self):
        self.assertEqual(neighbours.NONE, decoded(
            neighbours.to_text(neighbours.NONE)))

    @unit.PROPERTY
    @hypothesis.given(st.lists(SERVERS, max_size=30))
    def test_back_and_forth(self, servers):
        found = neighbours.Neighbours.count(servers)
        self.assertEqual(found, decoded(neighbours.to_text(found)))
        self.assertEqual(len(servers), sum(
            count for _, count in found.counts))

    @unit.PROPERTY
    @hypothesis.given(st.lists(SERVERS, min_size=1, max_size=9))
    def test_one_by_one(self, servers):
        found = neighbours.NONE
        for server in servers:
            found = found.plus(server)
        self.assertEqual(neighbours.Neighbours.count(servers), found)

    def test_newer_keys_are_skipped(self):
        self.assertEqual(neighbours.NONE, decoded(
            '{"version":1,"shared":{},"reserved":{},"isolated":{"x":1}}'))

    @ddt.data('', 'x', '[]', '{}', '{"version":2,"shared":{},"reserved":{}}',
              '{"version":1,"shared":{}}', '{"version":1,"shared":[],'
              '"reserved":{}}', *(
                  '{"version":1,"reserved":{},"shared":{' + bad + '}}'
                  for bad in ('"I":0', '"I":-1', '"I":1.5', '"I":true',
                              '"I":"1"', '"I":100001', '"a b":1', '"":1')),
              '[' * 100_000)
    def test_garbled(self, text):
        self.assertIsNone(decoded(text))

    def test_absent(self):
        self.assertIsNone(neighbours.from_stats({}))
        self.assertIsNone(neighbours.from_stats({neighbours.KEY: None}))

    @unit.PROPERTY
    @hypothesis.given(st.text(max_size=50))
    def test_any_text(self, text):
        decoded(text)

    def test_too_many_types_say_nothing(self):
        self.assertEqual('', neighbours.to_text(neighbours.Neighbours.count(
            neighbours.Typed(neighbours.Kind.SHARED, f'type-{number}')
            for number in range(1000))))
