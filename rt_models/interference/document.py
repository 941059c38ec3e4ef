# SPDX-License-Identifier: Apache-2.0

"""Reads a file with a matrix, format nova-rt-interference/1.

A bad file is refused with one sentence that names the cell.
"""

from collections.abc import Mapping
import dataclasses
import os
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import workload
from rt_models.interference import matrix
from rt_models.interference import yamlfile

FORMAT = 'nova-rt-interference/1'
METRICS = ('normalised-throughput', 'work-per-cpu-second')
#: The largest cell.  A neighbour makes no function faster: a cell above 1
#: shows only the noise of the measurement.
LARGEST = 1.2
#: How far a row mean may differ from the mean of its cells.  The paper rounds
#: the mean to two digits of percent, and the five cells have three digits.
TOLERANCE = 0.005

_DATA = os.path.join(os.path.dirname(__file__), 'data')
#: The matrix of paper 002 for shared servers, as far as it can be
#: reconstructed.
SHIPPED = os.path.join(_DATA, 'vnfs-2018.yaml')
#: A matrix for reserved servers, which this project measured with two
#: functions on one CPU.
SHIPPED_RESERVED = os.path.join(_DATA, 'vnfs-reserved-2026.yaml')

_KEYS = ('format', 'metric', 'applies_to', 'types', 'row_means', 'cells',
         'published', 'measured', 'stdev', 'conditions')


@dataclasses.dataclass(frozen=True, slots=True)
class _Quantity:
    """A kind of number in the file.

    :ivar advice: what to write instead of a value that is not allowed
    :ivar most: the largest value
    :ivar least: the smallest value; None: any value above 0
    """

    advice: str
    most: float
    least: float | None = None

    def broken_rule(self, value: Any) -> str:
        """Returns the rule that a value breaks; '' if it breaks none."""
        if value is _MISSING:
            return 'the key is missing'
        if value is None:
            return 'the key has no value'
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f'{yamlfile.shown(value)} is not a number'
        if self.least is None:
            return '' if 0 < value <= self.most else (
                f'{value} is not in the range above 0 up to {self.most:g}')
        return '' if self.least <= value <= self.most else (
            f'{value} is not in the range from {self.least:g} to '
            f'{self.most:g}')


_MISSING = object()
_THROUGHPUT = _Quantity('give the throughput as a part of the throughput '
                        'alone, for example 0.95', LARGEST)
_MEAN = _Quantity('give the mean of the cells of the row, for example 0.85',
                  LARGEST)
_DEVIATION = _Quantity('give the standard deviation of a cell, for example '
                       '0.05', LARGEST, 0)
_VARIATION = _Quantity('give the standard deviation of the runs divided by '
                       'their mean, for example 0.02', 100, 0)


def load(path: str) -> matrix.Matrix:
    """Returns the matrix in a file.

    :raises InvalidMatrix: when the file is not a valid matrix; its text is
        one sentence with the cell and what to do
    """
    return _Reader(path, yamlfile.load(path)).read()


class _Reader:
    """Reads a document part by part."""

    def __init__(self, path: str, data: Mapping[Any, Any]) -> None:
        self._path, self._data = path, data

    def read(self) -> matrix.Matrix:
        """Returns the matrix.

        :raises InvalidMatrix: when a part of the document is not valid
        """
        yamlfile.check_keys(self._path, self._data, _KEYS)
        self._one_of('format', (FORMAT,))
        self._one_of('metric', METRICS)
        kind = neighbours.Kind(
            self._one_of('applies_to', tuple(neighbours.Kind)))
        types = self._types()
        rows = self._rows(types)
        return matrix.Matrix(
            kind, types, rows, self._means(types, rows),
            self._known_cells(types, rows), {
                str(name): str(value) for name, value
                in self._mapping('conditions').items()})

    def _one_of(self, key: str, words: tuple[str, ...]) -> str:
        value = self._data.get(key)
        if value not in words:
            raise self._bad(
                key, f'{yamlfile.shown(value)} is not allowed'
                if key in self._data else 'the key is missing',
                f'give {" or ".join(words)}')
        return str(value)

    def _types(self) -> dict[str, str]:
        types = self._mapping('types')
        for name in types:
            if not (isinstance(name, str)
                    and workload.is_type(name)):
                raise self._bad(
                    f'types.{str(name)[:80]}', 'the name of a type has 1 to '
                    '32 letters, digits, _, . or -', 'rename the type, with '
                    'quotes if the name is a number')
        if not types:
            raise self._bad('types', 'there are no types', 'name each type')
        return {name: str(value) for name, value in types.items()}

    def _rows(self, types: Mapping[str, str]) -> dict[str, dict[str, float]]:
        cells = self._mapping('cells')
        self._square('cells', cells, types, 'row')
        rows = {}
        for target in types:
            row = self._mapping('cells', target)
            self._square(f'cells.{target}', row, types, 'cell')
            rows[target] = {
                competitor: self._number(f'cells.{target}.{competitor}',
                                         row[competitor], _THROUGHPUT)
                for competitor in types}
        return rows

    def _square(self, where: str, row: Mapping[Any, Any],
                types: Mapping[str, str], part: str) -> None:
        for name in types:
            if name not in row:
                raise self._bad(f'{where}.{name}', f'this {part} is missing',
                                'add it, because a matrix has a cell for '
                                'each pair of types')
        for name in row:
            self._is_type(f'{where}.{str(name)[:80]}', name, types)

    def _is_type(self, where: str, name: Any, types: Mapping[str, str]
                 ) -> None:
        if not isinstance(name, str) or name not in types:
            raise self._bad(where, f'{yamlfile.shown(name)} is not one of '
                            'the types', f'use {", ".join(types)}')

    def _means(self, types: Mapping[str, str],
               rows: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        means = {}
        for target, given in self._mapping('row_means').items():
            where = f'row_means.{str(target)[:80]}'
            self._is_type(where, target, types)
            means[target] = self._number(where, given, _MEAN)
            row = rows[target].values()
            mean = sum(row) / len(row)
            if abs(mean - means[target]) > TOLERANCE:
                raise self._bad(
                    where, f'it is {means[target]:.4f}, but the mean of '
                    f'cells.{target} is {mean:.4f}',
                    'correct one of them, so that they differ by at most '
                    f'{TOLERANCE}')
        return means

    def _known_cells(self, types: Mapping[str, str],
                     rows: Mapping[str, Mapping[str, float]]
                     ) -> dict[tuple[str, str], matrix.Cell]:
        published = self._published(types)
        stdevs = {str(key): self._number(f'stdev.{key}', value, _DEVIATION)
                  for key, value in self._mapping('stdev').items()}
        measured = self._measured(types)
        cells = {}
        for target, row in rows.items():
            for competitor, value in row.items():
                pair = target, competitor
                if pair in measured:
                    runs, stdev = measured[pair]
                    cells[pair] = matrix.Cell(
                        *pair, value, matrix.Origin.MEASURED, stdev * value,
                        runs)
                elif pair in published:
                    cells[pair] = matrix.Cell(
                        *pair, value, matrix.Origin.PUBLISHED)
                else:
                    cells[pair] = matrix.Cell(
                        *pair, value, matrix.Origin.ESTIMATED,
                        stdevs.get(target, stdevs.get('default')))
        return cells

    def _published(self, types: Mapping[str, str]) -> set[tuple[str, str]]:
        pairs = self._data.get('published') or []
        if not isinstance(pairs, list):
            raise self._bad('published', 'this is not a list',
                            'give pairs of types, for example [[I, III]]')
        published = set()
        for number, pair in enumerate(pairs):
            where = f'published[{number}]'
            if not isinstance(pair, list) or len(pair) != 2:
                raise self._bad(where, 'this is not a pair of types',
                                'give a target and a competitor')
            for name in pair:
                self._is_type(where, name, types)
            published.add((pair[0], pair[1]))
        return published

    def _measured(self, types: Mapping[str, str]
                  ) -> dict[tuple[str, str], tuple[int, float]]:
        """Returns the runs and the coefficient of variation of each pair."""
        measured = {}
        for target in self._mapping('measured'):
            self._is_type('measured', target, types)
            for competitor in self._mapping('measured', target):
                where = f'measured.{target}.{competitor}'
                self._is_type(where, competitor, types)
                pair = self._mapping('measured', target, competitor)
                measured[target, competitor] = (
                    self._runs(f'{where}.n', pair.get('n', _MISSING)),
                    self._number(f'{where}.cv', pair.get('cv', _MISSING),
                                 _VARIATION))
        return measured

    def _runs(self, where: str, value: Any) -> int:
        if type(value) is int and value >= 1:
            return value
        raise self._bad(
            where, 'the key is missing' if value is _MISSING
            else f'{yamlfile.shown(value)} is not a whole number of 1 or more',
            'give the number of runs, for example 5')

    def _mapping(self, *path: str) -> Mapping[Any, Any]:
        part: Any = self._data
        for key in path:
            part = part.get(key) or {}
            if not isinstance(part, dict):
                raise self._bad('.'.join(path), 'this is not a mapping',
                                'write it as {name: value}')
        result: Mapping[Any, Any] = part
        return result

    def _number(self, where: str, value: Any, quantity: _Quantity) -> float:
        rule = quantity.broken_rule(value)
        if rule:
            raise self._bad(where, rule, quantity.advice)
        return float(value)

    def _bad(self, where: str, rule: str, advice: str
             ) -> exception.InvalidMatrix:
        return yamlfile.refused(self._path, where, rule, advice)
