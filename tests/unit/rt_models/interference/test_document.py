# SPDX-License-Identifier: Apache-2.0

"""Tests good files, and the sentence for each bad one."""

import copy
import os

import ddt
import fixtures
import hypothesis
from hypothesis import strategies as st
from oslotest import base
import yaml

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from rt_models.interference import document
from rt_models.interference import matrix
from tests.unit import base as unit

_THROUGHPUT = ('give the throughput as a part of the throughput alone, for '
               'example 0.95')
_VARIATION = ('give the standard deviation of the runs divided by their mean, '
              'for example 0.02')
SMALL = {
    'format': 'nova-rt-interference/1', 'metric': 'normalised-throughput',
    'applies_to': 'shared', 'types': {'a': 'first', 'b': 'second'},
    'cells': {'a': {'a': 0.9, 'b': 0.8}, 'b': {'a': 0.7, 'b': 0.6}}}


def changed(path, value):
    """Returns SMALL with another value at a path; None: without the key."""
    data = copy.deepcopy(SMALL)
    *above, last = path.split('.')
    inner = data
    for key in above:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return data


class FileTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'm.yaml')

    def load(self, data):
        if not isinstance(data, str | bytes):
            data = yaml.safe_dump(data)
        mode = 'wb' if isinstance(data, bytes) else 'w'
        with open(self.path, mode) as handle:
            handle.write(data)
        return document.load(self.path)

    def refused(self, data):
        """Returns the sentence of the error without the path of the file."""
        error = str(self.assertRaises(
            exception.InvalidMatrix, self.load, data))
        self.assertTrue(error.startswith(f'{self.path}: '), error)
        self.assertRegex(error, r'\A[^\n]+\.\Z')
        return error[len(self.path) + 2:]


class GoodTest(FileTest):

    def test_the_shipped_one_has_what_is_published(self):
        """Paper 002: table I, the text on figure 3, and table III."""
        found = document.load(document.SHIPPED)
        self.assertIs(neighbours.Kind.SHARED, found.kind)
        self.assertEqual(0.8541, found.cell('I', 'III'))
        self.assertAlmostEqual(615.88 / 955, found.cell('III', 'II'), 3)
        self.assertAlmostEqual(103.99 / 169, found.cell('II', 'III'), 3)
        published = {'I': 0.8764, 'II': 0.4969, 'III': 0.6407, 'IV': 0.6478,
                     'V': 0.6114}
        self.assertEqual(published, found.means)
        for target, mean in published.items():
            self.assertAlmostEqual(mean, found.mean(target), delta=0.0003)

    def test_the_shipped_one_for_reserved_servers_is_measured(self):
        found = document.load(document.SHIPPED_RESERVED)
        self.assertIs(neighbours.Kind.RESERVED, found.kind)
        self.assertEqual([*document.load(document.SHIPPED).types],
                         [*found.types])
        for cell in found.cells():
            self.assertIs(matrix.Origin.MEASURED, cell.origin)
            self.assertGreaterEqual(cell.runs, 3)

    def test_the_shipped_one_says_what_is_not_published(self):
        origins = [cell.origin for cell
                   in document.load(document.SHIPPED).cells()]
        self.assertEqual(25, len(origins))
        self.assertEqual(3, origins.count(matrix.Origin.PUBLISHED))
        self.assertEqual(22, origins.count(matrix.Origin.ESTIMATED))

    def test_small(self):
        found = self.load(SMALL)
        self.assertEqual(0.8, found.cell('a', 'b'))
        self.assertEqual(1.0, found.cell('a', 'unknown'))
        self.assertEqual(1.0, found.cell('unknown', 'a'))

    def test_measured(self):
        data = SMALL | {'measured': {'a': {'b': {'n': 5, 'cv': 0.05}}},
                        'conditions': {'kernel': 6.1}}
        found = self.load(data)
        cell = found.known['a', 'b']
        self.assertEqual((matrix.Origin.MEASURED, 5), (cell.origin,
                                                       cell.runs))
        self.assertAlmostEqual(0.04, cell.stdev)
        self.assertEqual({'kernel': '6.1'}, found.conditions)

    @unit.PROPERTY
    @hypothesis.given(st.dictionaries(
        st.from_regex(r'\A[A-Za-z0-9_.-]{1,32}\Z'), st.just('x'),
        min_size=1, max_size=5).flatmap(lambda types: st.tuples(
            st.just(types), st.lists(
                st.floats(0.001, 1.2), min_size=len(types) ** 2,
                max_size=len(types) ** 2))))
    def test_what_is_written_is_read(self, given):
        types, values = given
        names, left = list(types), iter(values)
        cells = {target: {other: next(left) for other in names}
                 for target in names}
        found = self.load(SMALL | {'types': types, 'cells': cells})
        self.assertEqual(cells, found.rows)


@ddt.ddt
class BadTest(FileTest):

    @ddt.data(
        ('format', 'x', "format: 'x' is not allowed; give "
         'nova-rt-interference/1.'),
        ('metric', None, 'metric: the key is missing; give '
         'normalised-throughput '
         'or work-per-cpu-second.'),
        ('applies_to', 'all', "applies_to: 'all' is not allowed; give shared "
         'or reserved.'),
        ('applys_to', 'x', 'applys_to: this key is not known; the nearest '
         'key is applies_to.'),
        ('types', {}, 'types: there are no types; name each type.'),
        ('types', ['a'], 'types: this is not a mapping; write it as {name: '
         'value}.'),
        ('types', {1: 'x'}, 'types.1: the name of a type has 1 to 32 letters, '
         'digits, _, . or -; rename the type, with quotes if the name is a '
         'number.'),
        ('cells.b', None, 'cells.b: this row is missing; add it, because a '
         'matrix has a cell for each pair of types.'),
        ('cells.a.b', None, 'cells.a.b: this cell is missing; add it, because '
         'a matrix has a cell for each pair of types.'),
        ('cells.c', {}, "cells.c: 'c' is not one of the types; use a, b."),
        ('cells.a.c', 1, "cells.a.c: 'c' is not one of the types; use a, b."),
        ('cells.a.b', 0, 'cells.a.b: 0 is not in the range above 0 '
         'up to 1.2; '
         f'{_THROUGHPUT}.'),
        ('cells.a.b', 1.21, 'cells.a.b: 1.21 is not in the range above '
         '0 up to 1.2; '
         f'{_THROUGHPUT}.'),
        ('cells.a.b', float('nan'), 'cells.a.b: nan is not in the range '
         f'above 0 up to 1.2; {_THROUGHPUT}.'),
        ('cells.a.b', 'high', "cells.a.b: 'high' is not a number; "
         f'{_THROUGHPUT}.'),
        ('cells.a.b', True, "cells.a.b: 'true' is not a number; "
         f'{_THROUGHPUT}.'),
        ('cells.a', {'a': None, 'b': 1}, 'cells.a.a: the key has no value; '
         f'{_THROUGHPUT}.'),
        ('row_means', {'a': 0.844}, 'row_means.a: it is 0.8440, but the mean '
         'of cells.a is 0.8500; correct one of them, so that they differ by '
         'at most 0.005.'),
        ('row_means', {'a': 2}, 'row_means.a: 2 is not in the range above '
         '0 up to 1.2; give the mean of the cells of the row, for example '
         '0.85.'),
        ('row_means', {'z': 0.8}, "row_means.z: 'z' is not one of the types; "
         'use a, b.'),
        ('published', 'a', 'published: this is not a list; give pairs of '
         'types, for example [[I, III]].'),
        ('published', [['a', 'b'], ['a']], 'published[1]: this is not a pair '
         'of types; give a target and a competitor.'),
        ('published', [['a', 'z']], "published[0]: 'z' is not one of the "
         'types; use a, b.'),
        ('stdev', {'default': -1}, 'stdev.default: -1 is not in the range '
         'from 0 to 1.2; give the standard deviation of a cell, for example '
         '0.05.'),
        ('measured', {'a': {'b': {'cv': 0}}},
         'measured.a.b.n: the key is missing; '
         'give the number of runs, for example 5.'),
        ('measured', {'a': {'b': {'n': 0, 'cv': 0}}}, "measured.a.b.n: '0' is "
         'not a whole number of 1 or more; give the number of runs, for '
         'example 5.'),
        ('measured', {'a': {'b': {'n': True, 'cv': 0}}}, 'measured.a.b.n: '
         "'true' is not a whole number of 1 or more; give the number of runs, "
         'for example 5.'),
        ('measured', {'a': {'b': {'n': 1}}},
         'measured.a.b.cv: the key is missing; '
         f'{_VARIATION}.'),
        ('measured', {'a': {'b': {'n': 1, 'cv': -0.1}}}, 'measured.a.b.cv: '
         f'-0.1 is not in the range from 0 to 100; {_VARIATION}.'))
    @ddt.unpack
    def test_sentence(self, path, value, sentence):
        self.assertEqual(sentence, self.refused(changed(path, value)))

    def test_a_row_mean_within_the_tolerance(self):
        self.load(SMALL | {'row_means': {'a': 0.846, 'b': 0.654}})

    def test_a_key_twice(self):
        text = yaml.safe_dump(SMALL).replace('a: 0.9\n',
                                             'a: 0.9\n    a: 0.9\n')
        self.assertIn('the key cells.a.a is given twice; keep one of them.',
                      self.refused(text))

    @ddt.data(
        ('a: [', 'line 1: it is not YAML (expected the node content'),
        ('- a', 'the file: it is not a YAML mapping; begin it with "format'),
        ('', 'the file: it is not a YAML mapping'),
        (b'\xff', 'the file: it is not UTF-8 text; save it as UTF-8.'),
        (b'a: \x00', 'the file: it is not YAML that can be read'),
        ('a: &x [1]\nb: *x', 'line 1: a value is repeated by an alias'),
        ('a: ' + '[' * 5000, 'the file: it is not YAML that can be read'),
        ('a: 2001-13-45', 'the file: it is not YAML that can be read'),
        ('#' * 1_000_001, 'it has more than 1000000 bytes; name another '
                          'file.'))
    @ddt.unpack
    def test_no_yaml(self, data, words):
        self.assertIn(words, self.refused(data))

    def test_no_file(self):
        self.path += '/nowhere'
        error = self.assertRaises(exception.InvalidMatrix, document.load,
                                  self.path)
        self.assertIn('it cannot be read (No such file', str(error))

    @unit.PROPERTY
    @hypothesis.given(st.binary(max_size=200) | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from([*SMALL, 'a', 'b', 'measured', 'stdev']), inner,
            max_size=4)))
    def test_anything_is_one_sentence(self, data):
        self.refused(data)

    @unit.PROPERTY
    @hypothesis.given(
        st.sampled_from([*SMALL, 'cells.a', 'cells.a.b', 'types.a']),
        st.recursive(st.none() | st.floats() | st.text(max_size=5),
                     lambda inner: st.lists(inner, max_size=2)
                     | st.dictionaries(st.text(max_size=3), inner,
                                       max_size=2)))
    def test_one_value_that_is_anything(self, path, value):
        try:
            self.load(changed(path, value))
        except exception.InvalidMatrix as error:
            self.assertRegex(str(error), r'\A[^\n]+\.\Z')
