# SPDX-License-Identifier: Apache-2.0

"""Tests that YAML is read, or refused in one sentence."""

import hypothesis
from hypothesis import strategies as st
from oslotest import base
import yaml

from tacker_rt import problem
from tacker_rt.vnfd import yamlfile
from tests.unit import base as unit

#: Ten lists, each of ten times the one before.
_LAUGHS = b'a0: &a0 [1]\n' + b''.join(
    b'a%d: &a%d [%s]\n' % (i, i, b', '.join([b'*a%d' % (i - 1)] * 10))
    for i in range(1, 10))


class LoadTest(base.BaseTestCase):

    def load(self, data):
        found = []
        value = yamlfile.load(problem.Place(found, 'f'), data)
        return value, [str(one) for one in found]

    def refused(self, data, text):
        self.assertEqual((None, [f'f: {text}']), self.load(data))

    def test_value(self):
        for data in (b'a: [1, x]', b'\xef\xbb\xbfa: [1, x]\r\n'):
            self.assertEqual(({'a': [1, 'x']}, []), self.load(data))

    def test_aliases_and_merged_keys(self):
        data = b'a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a'
        self.assertEqual({'x': 1, 'y': 3}, self.load(data)[0]['b'])

    def test_syntax(self):
        self.refused(b'a: 1\nb: [', 'line 3: this is not YAML (did not find '
                     'expected node content); check the indentation and the '
                     'quotes.')
        self.refused(b'a: \x00', 'line 1: this is not YAML (control '
                     'characters); save the file as plain text.')
        self.refused(b'--- a\n--- b', 'line 2: this is not YAML (but found '
                     'another document); check the indentation and the '
                     'quotes.')

    def test_not_utf8(self):
        self.refused(b'a: 1\nb: \xff', 'line 2: the file is not UTF-8 text; '
                     'save the file as UTF-8.')

    def test_empty(self):
        for data in (b'', b'# nothing', b'---', b'null', b'~'):
            self.refused(data, 'line 1: the file is empty; write a YAML '
                               'mapping.')

    def test_equal_keys(self):
        self.refused(b'a:\n  b: 1\n  b: 2', 'line 3: the mapping has the key '
                     'b twice; keep one of the two.')

    def test_deep(self):
        for data in (b'[' * 100_000, b'{a: ' * 100_000, b'- ' * 100_000):
            self.refused(data, 'line 1: the file is more than 100 levels '
                         'deep; use fewer levels.')
        self.assertEqual([], self.load(b'[' * 100 + b']' * 100)[1])

    def test_aliases_without_end(self):
        for data in (b'a: &a [*a]', b'&a {x: *a}', b'a: &a {<<: *a}'):
            self.refused(data, 'line 1: an alias is inside the value that it '
                         'refers to; write the value out.')
        self.refused(_LAUGHS, 'line 7: the file has more than 1000000 '
                     'values; use fewer aliases.')

    def test_values_that_are_not_of_their_type(self):
        for data, name in (
                (b'!!bool x', 'KeyError'), (b'!!int ""', 'IndexError'),
                (b'2001-13-45', 'ValueError'),
                (b'!!timestamp x', 'AttributeError')):
            self.refused(data, 'line 1: a value is not valid for the type '
                         f'that its tag names or that YAML infers ({name}); '
                         'put the value in quotes.')

    def test_numbers_without_end(self):
        for data in (b'0x' + b'f' * 5_000, b'9' * 5_000):
            self.refused(data, 'line 1: a number has more than 100 digits; '
                         'put the number in quotes.')

    def test_objects(self):
        value, found = self.load(b'!!python/object/apply:os.getcwd []')
        self.assertIsNone(value)
        self.assertIn('could not determine a constructor', found[0])

    def test_numbers_that_look_like_others(self):
        for text in ('060000', '1:30', '0x10', '60_000', '0b1'):
            _, found = self.load(b'a:\n  cpu.rt_runtime_us: %s'
                                 % text.encode())
            self.assertEqual(
                [f'f: line 2: YAML reads {text} as another number; write '
                 'the number in decimal digits, without a leading 0.'], found)
        for data in (b'x_us: 0', b'x_us: -5', b'x_us: "060000"',
                     b'mode: 0644', b'default: 10'):
            self.assertEqual([], self.load(data)[1])

    def test_tabs(self):
        for data, line in (
                (b'a: b\tc', 1), (b'x:\n  a:\tb', 2), (b'a: b\t', 1),
                (b'a: "\t"\nb: c\td', 2), (b'a: &x\t"b"', 1),
                (b'\xef\xbb\xbf"a":\tb', 1), (b'a: |\n  x\t\nb: c\t# d', 3)):
            self.refused(data, f'line {line}: a tab is outside of quotes, and '
                         'other readers of YAML refuse that; write spaces '
                         'instead.')
        self.refused(b'\n\xef\xbb\xbfc: d', 'line 2: a byte order mark is '
                     'outside of quotes, and other readers of YAML refuse '
                     'that; write spaces instead.')
        for data in (b'a: "b\tc"', b"a: 'b\t'", b'a: |\n  b\tc\n',
                     b'a: >\r\n  b\tc\r\nd: e # \tf\r\n', b'#\t\na: b'):
            self.assertEqual((yaml.safe_load(data), []), self.load(data))

    @hypothesis.given(st.lists(st.sampled_from(
        ['a', 'b', ': ', ':', ' ', '  ', '\t', '\n', '\n  ', '- ', '"', "'",
         '# ', '#', '|\n ', '>\n ', '{', '}', '[', ']', ', ', '&x ', '*x',
         '!!str', '? ', '\r', '\ufeff', 'é']), max_size=25).map(''.join))
    @hypothesis.settings(unit.PROPERTY, max_examples=1000)
    def test_as_python_reads_it(self, text):
        """libyaml accepts more than the parser that is written in Python."""
        value, found = self.load(text.encode())
        if not found:
            self.assertEqual(yaml.load(text.encode(), yaml.SafeLoader),
                             value)
