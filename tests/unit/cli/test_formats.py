# SPDX-License-Identifier: Apache-2.0

import argparse
import csv
import io
from unittest import mock

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import yaml

from nova_rt.cli import base
from nova_rt.cli import formats
from nova_rt.rules import exception
from tests.unit import commands

_SCALARS = (strategies.none() | strategies.booleans()
            | strategies.integers(-10**12, 10**12)
            | strategies.floats(-1e6, 1e6).map(lambda value: round(value, 6))
            | strategies.text(
                strategies.characters(codec='utf-8', exclude_characters='')))
_CONTENT = strategies.recursive(
    _SCALARS, lambda inner: strategies.lists(inner, max_size=4)
    | strategies.dictionaries(strategies.text(max_size=6), inner, max_size=4),
    max_leaves=12)
TABLE = formats.Table(('Name', 'CPUs'), [('a b', 0.25), ('\x1b[2J"', None)])


class FormatsTest(commands.CommandTest):

    def show(self, *argv, table=TABLE):
        parser = base.Parser('x')
        formats.add_option(parser, lists=True)
        args = parser.parse_args(argv)
        out = io.StringIO()
        with mock.patch('sys.stdout', out):
            formats.show(args, lambda: 'a text', lambda: '{"a": [1, "b"]}',
                         lambda: table)
        return out.getvalue()

    def test_each_format(self):
        for argv, printed in (
                ((), 'a text\n'),
                (('--json',), '{"a": [1, "b"]}\n'),
                (('-f', 'yaml'), '"a":\n  - 1\n  - "b"\n'),
                (('-f', 'csv'), '"Name","CPUs"\n"a b",0.25\n'
                                '"\x1b[2J""",""\n'),
                (('-f', 'value'), 'a b 0.25\n [2J" \n'),
                (('-f', 'value', '-c', 'cpus'), '0.25\n\n'),
                (('-f', 'table'), '+-------+------+\n'
                                  '| Name  | CPUs |\n'
                                  '+-------+------+\n'
                                  '| a b   | 0.25 |\n'
                                  '|  [2J" |      |\n'
                                  '+-------+------+\n')):
            self.assertEqual(printed, self.show(*argv), argv)

    def test_columns_in_the_order_of_the_options(self):
        self.assertEqual('"CPUs","Name"\n0.25,"a b"\n"","\x1b[2J"""\n',
                         self.show('-f', 'csv', '-c', 'CPUs', '-c', 'Name'))

    def test_a_column_that_does_not_exist(self):
        error = self.assertRaises(exception.InvalidConfiguration, self.show,
                                  '-f', 'csv', '-c', 'nosuch')
        for words in ('-c', 'nosuch', 'give one of Name, CPUs'):
            self.assertIn(words, str(error))

    def test_no_rows(self):
        empty = formats.Table(('Name',), [])
        self.assertEqual(['"Name"\n', '', '+------+\n| Name |\n+------+\n'], [
            self.show('-f', name, table=empty) for name in formats.TABULAR])

    @settings(deadline=None)
    @given(_CONTENT)
    def test_yaml_is_what_json_is(self, content):
        self.assertEqual(content, yaml.safe_load(formats.as_yaml(content)))

    @settings(deadline=None)
    @given(strategies.lists(strategies.text(
        strategies.characters(codec='utf-8', exclude_categories=('C',))),
        min_size=1, max_size=4))
    def test_csv_is_read_back(self, cells):
        columns = tuple(map(str, range(len(cells))))
        printed = formats.as_csv(formats.Table(columns, [cells]))
        self.assertEqual([[*columns], cells], [*csv.reader(
            io.StringIO(printed, newline=''))])

    def test_rights_that_lack(self):
        def register(subparsers):
            subparsers.add_parser('x').set_defaults(
                run=mock.Mock(side_effect=PermissionError(
                    13, 'Permission denied', '/a/file')))

        self.main = lambda argv: base.run('nova-rt', '', [register], argv)
        self.assertEqual(
            (1, '', 'nova-rt: this process lacks the rights for /a/file: '
             'Permission denied; run the command as root.\n'),
            self.run_main('x'))
        self.assertEqual(
            'this process lacks rights: Operation not permitted; run the '
            'command as root.', base.no_rights(
                PermissionError(1, 'Operation not permitted')))

    def test_the_option_in_the_help(self):
        parser = argparse.ArgumentParser()
        formats.add_option(parser)
        self.assertIn('-f {text,json,yaml}', parser.format_help())
        self.assertNotIn('--column', parser.format_help())
