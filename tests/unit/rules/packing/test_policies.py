# SPDX-License-Identifier: Apache-2.0

"""Tests which pCPUs each policy takes, and its entry point."""

import importlib.metadata
import inspect

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules.packing import policies
from tests.unit import base as unit

#: Who has room, as (pCPU id, ppm used).
ROOM = ((0, 500), (1, 900), (2, 500), (3, 100))

_USED = st.dictionaries(st.integers(0, 9), st.integers(0, 3), min_size=1)


class PolicyTest(base.BaseTestCase):

    def test_worst_fit_takes_the_emptiest(self):
        self.assertEqual((3, 0, 2),
                         policies.worst_fit(ROOM, 3))

    def test_best_fit_takes_the_fullest(self):
        self.assertEqual((1, 0, 2), policies.best_fit(ROOM, 3))

    def test_first_fit_takes_the_lowest_ids(self):
        self.assertEqual((1, 2), policies.first_fit(ROOM[1:], 2))

    @hypothesis.given(_USED, st.integers(1, 4))
    @unit.PROPERTY
    def test_no_better_pcpu_is_left(self, used, count):
        room = sorted(used.items())
        for policy, sign in ((policies.worst_fit, 1),
                             (policies.best_fit, -1)):
            chosen = policy(room, count)
            left = set(used) - set(chosen)
            rank = [(sign * used[cpu], cpu) for cpu in chosen]
            self.assertEqual(sorted(rank), rank)
            self.assertEqual([], [cpu for cpu in left
                                  if (sign * used[cpu], cpu) < rank[-1]])

    def test_entry_points(self):
        found = {entry.name: entry.load() for entry in
                 importlib.metadata.entry_points(group='nova_rt.packing')}
        ours = {name: function for name, function
                in inspect.getmembers(policies, inspect.isfunction)
                if not name.startswith('_')}
        self.assertIn('worst_fit', ours)
        self.assertEqual(ours, found, 'name each policy in the entry points '
                         'of nova_rt.packing in pyproject.toml, and run '
                         'tools/setup.sh')
