# SPDX-License-Identifier: Apache-2.0

"""The formats in which commands print: text, JSON, YAML, CSV and tables.

The names of the formats are those of ``openstack``.  This module needs no
other package, so that commands have all formats wherever they run.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import csv
import dataclasses
import io
import json
import re
from typing import Any

from nova_rt.rules import exception

TEXT, JSON, YAML = STRUCTURED = ('text', 'json', 'yaml')
CSV, VALUE, TABLE = TABULAR = ('csv', 'value', 'table')

#: A backslash, or a character beyond 16 bits, which YAML writes in one piece.
_ESCAPES = re.compile(
    r'\\\\|(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)')

Cell = str | int | float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Rows with a cell for each column."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]


def add_option(parser: argparse.ArgumentParser, lists: bool = False,
               known: tuple[str, ...] = STRUCTURED) -> None:
    """Adds ``-f``, and ``--json``, an older name of ``-f json``.

    :param known: the formats of the command, without the formats of tables
    :param lists: whether the command also has a table, so that ``-c`` can
        choose columns
    """
    parser.add_argument(
        '-f', '--format', choices=known + TABULAR * lists, default=TEXT,
        help='the format of the output (default: %(default)s)')
    parser.add_argument('--json', dest='format', action='store_const',
                        const=JSON, help='the same as -f json')
    if lists:
        parser.add_argument(
            '-c', '--column', action='append', metavar='COLUMN',
            help='print only this column with -f csv, value or table; may be '
                 'repeated')


def show(args: argparse.Namespace, text: Callable[[], str],
         as_json: Callable[[], str], table: Callable[[], Table] | None = None
         ) -> None:
    """Prints a result in the format that was asked for.

    :param as_json: returns the JSON text
    :param table: the table, if the command has one (*lists* of add_option)
    :raises InvalidConfiguration: when the table lacks a column of ``-c``
    """
    name = args.format
    if table is not None and name in TABULAR:
        wanted = choose(table(), getattr(args, 'column', None) or ())
        printed = {CSV: as_csv, VALUE: as_value, TABLE: as_table}[name](wanted)
    elif name == TEXT:
        printed = text()
    else:
        printed = as_json()
        if name == YAML:
            printed = as_yaml(json.loads(printed))
    if printed:
        print(printed)


def choose(table: Table, names: Sequence[str]) -> Table:
    """Returns the columns with these names, in this order; all for ().

    :raises InvalidConfiguration: when there is no such column
    """
    known = {name.lower(): number
             for number, name in enumerate(table.columns)}
    for name in names:
        if name.lower() not in known:
            raise exception.InvalidConfiguration(
                option='-c', value=name,
                rule=f'give one of {", ".join(table.columns)}')
    numbers = [known[name.lower()] for name in names] or [*known.values()]
    return Table(tuple(table.columns[number] for number in numbers),
                 [[row[number] for number in numbers] for row in table.rows])


def as_csv(table: Table) -> str:
    """Returns CSV with a heading; texts are in quotes, numbers are not."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator='\n',
                        quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(table.columns)
    writer.writerows([['' if cell is None else cell for cell in row]
                      for row in table.rows])
    return target.getvalue().rstrip('\n')


def as_value(table: Table) -> str:
    """Returns the cells with spaces between them, and no heading."""
    return '\n'.join(' '.join(map(_cell, row)) for row in table.rows)


def as_table(table: Table) -> str:
    """Returns a table with lines; numbers are on the right."""
    rows = [[*map(_cell, row)] for row in table.rows]
    widths = [max(map(len, column))
              for column in zip(table.columns, *rows, strict=True)]
    rule = '+'.join(['', *('-' * (width + 2) for width in widths), ''])
    numeric = [bool(table.rows) and all(
        isinstance(row[number], int | float | None) for row in table.rows)
        for number in range(len(widths))]
    lines = [_line(row, widths, numeric) for row in (table.columns, *rows)]
    return '\n'.join([rule, lines[0], rule, *lines[1:], *[rule] * bool(rows)])


def _line(row: Sequence[str], widths: Sequence[int],
          numeric: Sequence[bool]) -> str:
    return '|'.join(['', *(
        f' {cell.rjust(width) if right else cell.ljust(width)} '
        for cell, width, right in zip(row, widths, numeric, strict=True)),
        ''])


def _cell(cell: Cell) -> str:
    """Returns a cell in one line, without control characters."""
    text = '' if cell is None else str(cell)
    return ''.join(letter if letter.isprintable() else ' ' for letter in text)


def as_yaml(content: Any) -> str:
    """Returns plain data as YAML; all texts are in quotes."""
    return '\n'.join(_yaml(content, ''))


def _yaml(content: Any, indent: str) -> Iterator[str]:
    """Yields the lines of a value that begins on a line of its own."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _entry(f'{indent}{_scalar(key)}:', value,
                              f'{indent}  ')
    elif isinstance(content, list) and content:
        for value in content:
            yield from _entry(f'{indent}-', value, f'{indent}  ')
    else:
        yield f'{indent}{_scalar(content)}'


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from _yaml(value, indent)
    else:
        yield f'{head} {_scalar(value)}'


def _scalar(value: Any) -> str:
    """Returns a value as JSON that YAML 1.1 reads as the same value."""
    text = json.dumps(value)
    if isinstance(value, float) and '.' not in text:
        return text.replace('e', '.0e')
    return _ESCAPES.sub(_long, text)


def _long(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    letter = json.loads('"' + match[1] + '"')
    return f'\\U{ord(letter):08x}'
