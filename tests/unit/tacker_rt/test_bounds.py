# SPDX-License-Identifier: Apache-2.0

"""Tests that small files take neither much time nor much memory.

Work is counted, not timed: comparisons of words, problems, bytes.
"""

import difflib
import pathlib
import tracemalloc
from unittest import mock
import zipfile

import fixtures
from oslotest import base
import yaml

from tacker_rt import exception
from tacker_rt.package import csar
from tacker_rt import problem
from tacker_rt import validate
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import policies
from tacker_rt.vnfd import yamlfile
from tests.unit.tacker_rt import samples

_MANY = 2_000


class BoundsTest(base.BaseTestCase):

    def compared(self, function):
        """Returns how many pairs of words were compared."""
        with mock.patch.object(
                difflib.SequenceMatcher, 'set_seq1', autospec=True,
                side_effect=difflib.SequenceMatcher.set_seq1
                ) as compare:
            function()
        return compare.call_count

    def test_unknown_names_among_many(self):
        template = samples.sol001(policies=[
            samples.policy({'runtime_us': 1, 'period_us': 2})])
        nodes = template['topology_template']['node_templates']
        nodes |= {f'node{n}': nodes['VDU1'] for n in range(_MANY)}
        policy = template['topology_template']['policies'][0]['reserved']
        policy['targets'] = [f'vdu{n}' for n in range(_MANY)]
        count = self.compared(lambda: descriptor.examine({'f': template}))
        self.assertLess(count, 200_000)

    def test_problems_end(self):
        template = samples.sol001(policies=[
            samples.policy({'runtime_us': 1, 'period_us': 2})])
        policy = template['topology_template']['policies'][0]['reserved']
        policy['targets'] = list(range(_MANY))
        _, found = descriptor.examine({'f': template})
        self.assertEqual(problem.MOST + 1, len(found))
        self.assertEqual('f: only the first 200 problems are shown; correct '
                         'these first.', str(found[-1]))

    def test_many_policies(self):
        """Each policy is looked up once, not compared with all others."""
        many = [samples.policy({'cpu.rt_runtime_us': 1}, name=f'p{n}')
                for n in range(_MANY)]
        template = samples.sol001(policies=many)
        seen = mock.Mock(side_effect=policies.is_ours)
        with mock.patch.object(policies, 'is_ours', seen):
            descriptor.examine({'f': template})
        self.assertLess(seen.call_count, 5 * _MANY)

    def test_values_are_counted_before_they_are_made(self):
        place = problem.Place([], 'f')
        data = b'[' + b'a,' * 1_500_000 + b']'
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        self.assertIsNone(yamlfile.load(place, data))
        self.assertIn('the file has more than', str(place.problems[0]))
        self.assertLess(tracemalloc.get_traced_memory()[1], 150 << 20)

    def test_members_are_counted_before_they_are_listed(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'a.csar'
        with zipfile.ZipFile(path, 'w') as archive:
            for n in range(30_000):
                archive.writestr(f'{n}', b'')
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        error = self.assertRaises(exception.InvalidVnfd, validate.validate,
                                  str(path))
        self.assertIn(f'more than {csar.MAX_MEMBERS} files', str(error))
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 20)

    def test_values_are_shown_as_far_as_they_are_seen(self):
        for value in ({'a': [1, 'b', {}], 'c': None}, [], "it's", 5, 'x' * 99,
                      {1: {2: ['\n']}}):
            self.assertEqual(repr(value)[:80], problem.shown(value))
        bomb = ['x' * 10]
        for _ in range(60):
            bomb = [bomb, bomb]
        self.assertEqual(80, len(problem.shown([1, 'y' * 90, bomb])))

    def test_long_words(self):
        word = 'a' * 1_000_000
        self.assertLess(self.compared(
            lambda: problem.nearest(word, [word + 'b'] * 3)), 4)
        template = samples.sol001({word: 'x', 'cpu.rt_' + word: 'y'})
        text = yaml.safe_dump(descriptor.examine({'f': template})[1][0].key)
        self.assertLess(len(text), 200)
