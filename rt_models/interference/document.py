# SPDX-License-Identifier: Apache-2.0

"""The file with a matrix, format nova-rt-interference/1.

What a bad file says is one sentence that names the cell.
"""

from collections.abc import Mapping
import os
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import workload
from rt_models.interference import matrix
from rt_models.interference import yamlfile

FORMAT = 'nova-rt-interference/1'
METRICS = ('normalised-throughput', 'work-per-cpu-second')
#: Nobody gains more than noise from a neighbour.
LARGEST = 1.2
#: How far a row mean may be from that of its cells: rounding to two digits
#: of percent, over five cells read with three.
TOLERANCE = 0.005

_MOST_CV = 100.0

_DATA = os.path.join(os.path.dirname(__file__), 'data')
#: The reconstruction of the matrix of paper 002, for shared servers.
SHIPPED = os.path.join(_DATA, 'vnfs-2018.yaml')
#: Reserved functions side by side on one CPU, measured here.
SHIPPED_RESERVED = os.path.join(_DATA, 'vnfs-reserved-2026.yaml')

_KEYS = ('format', 'metric', 'applies_to', 'types', 'row_means', 'cells',
         'published', 'measured', 'stdev', 'conditions')


def load(path: str) -> matrix.Matrix:
    """The matrix in a file.

    :raises InvalidMatrix: one sentence with the cell and what to do
    """
    return _Reader(path, yamlfile.load(path)).read()


class _Reader:
    """One document, read part by part."""

    def __init__(self, path: str, data: Mapping[Any, Any]) -> None:
        self._path, self._data = path, data

    def read(self) -> matrix.Matrix:
        yamlfile.known(self._path, self._data, _KEYS)
        self._one_of('format', (FORMAT,))
        self._one_of('metric', METRICS)
        kind = neighbours.Kind(
            self._one_of('applies_to', tuple(neighbours.Kind)))
        types = self._types()
        rows = self._rows(types)
        return matrix.Matrix(
            kind, types, rows, self._means(types, rows),
            self._known(types, rows), {
                str(name): str(value) for name, value
                in self._mapping('conditions').items()})

    def _one_of(self, key: str, words: tuple[str, ...]) -> str:
        value = self._data.get(key)
        if value not in words:
            raise self._bad(key, f'it is {str(value)[:80]!r}',
                            f'give {" or ".join(words)}')
        return str(value)

    def _types(self) -> dict[str, str]:
        found = self._mapping('types')
        for name in found:
            if not (isinstance(name, str)
                    and workload.is_type(name)):
                raise self._bad(
                    f'types.{str(name)[:80]}', 'a type has 1 to 32 letters, '
                    'digits, _, . or -', 'rename it, with quotes if it is a '
                    'number')
        if not found:
            raise self._bad('types', 'there is none', 'name each type')
        return {name: str(value) for name, value in found.items()}

    def _rows(self, types: Mapping[str, str]) -> dict[str, dict[str, float]]:
        cells = self._mapping('cells')
        self._square('cells', cells, types)
        rows = {}
        for target in types:
            row = self._mapping('cells', target)
            self._square(f'cells.{target}', row, types)
            rows[target] = {
                competitor: self._number(f'cells.{target}.{competitor}',
                                         row[competitor], LARGEST)
                for competitor in types}
        return rows

    def _square(self, where: str, row: Mapping[Any, Any],
                types: Mapping[str, str]) -> None:
        for name in types:
            if name not in row:
                raise self._bad(f'{where}.{name}', 'it is missing, and the '
                                'matrix not square', 'add it')
        for name in row:
            self._is_type(f'{where}.{str(name)[:80]}', name, types)

    def _is_type(self, where: str, name: Any, types: Mapping[str, str]
                 ) -> None:
        if not isinstance(name, str) or name not in types:
            raise self._bad(where, f'{str(name)[:80]!r} is none of the types',
                            f'use {", ".join(types)}')

    def _means(self, types: Mapping[str, str],
               rows: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        means = {}
        for target, given in self._mapping('row_means').items():
            where = f'row_means.{str(target)[:80]}'
            self._is_type(where, target, types)
            means[target] = self._number(where, given, LARGEST)
            row = rows[target].values()
            found = sum(row) / len(row)
            if abs(found - means[target]) > TOLERANCE:
                raise self._bad(
                    where, f'it is {means[target]:.4f}, and the mean of '
                    f'cells.{target} is {found:.4f}',
                    f'they may differ by {TOLERANCE}')
        return means

    def _known(self, types: Mapping[str, str],
               rows: Mapping[str, Mapping[str, float]]
               ) -> dict[tuple[str, str], matrix.Cell]:
        published = self._published(types)
        stdevs = {str(key): self._number(f'stdev.{key}', value, LARGEST, 0)
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
            raise self._bad('published', 'it is no list',
                            'give pairs of types, as [[I, III]]')
        found = set()
        for number, pair in enumerate(pairs):
            where = f'published[{number}]'
            if not isinstance(pair, list) or len(pair) != 2:
                raise self._bad(where, 'it is no pair of types',
                                'give a target and a competitor')
            for name in pair:
                self._is_type(where, name, types)
            found.add((pair[0], pair[1]))
        return found

    def _measured(self, types: Mapping[str, str]
                  ) -> dict[tuple[str, str], tuple[int, float]]:
        """Runs and coefficient of variation by pair."""
        found = {}
        for target in self._mapping('measured'):
            self._is_type('measured', target, types)
            for competitor in self._mapping('measured', target):
                where = f'measured.{target}.{competitor}'
                self._is_type(where, competitor, types)
                one = self._mapping('measured', target, competitor)
                runs = one.get('n')
                if not isinstance(runs, int) or runs < 1:
                    raise self._bad(where, 'it has no number of runs n',
                                    'measure it again')
                found[target, competitor] = runs, self._number(
                    f'{where}.cv', one.get('cv'), _MOST_CV, 0)
        return found

    def _mapping(self, *path: str) -> Mapping[Any, Any]:
        found: Any = self._data
        for key in path:
            found = found.get(key) or {}
            if not isinstance(found, dict):
                raise self._bad('.'.join(path), 'it is no mapping',
                                'write it as {name: value}')
        result: Mapping[Any, Any] = found
        return result

    def _number(self, where: str, value: Any, most: float,
                least: float | None = None) -> float:
        """Above 0, or from *least* on."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            rule = f'{str(value)[:80]!r} is no number'
        elif least is None and not 0 < value <= most:
            rule = f'{value} is outside (0, {most}]'
        elif least is not None and not least <= value <= most:
            rule = f'{value} is outside [{least}, {most}]'
        else:
            return float(value)
        raise self._bad(where, rule, 'give a throughput over that alone, as '
                        '0.95')

    def _bad(self, where: str, rule: str, advice: str
             ) -> exception.InvalidMatrix:
        return yamlfile.refused(self._path, where, rule, advice)
