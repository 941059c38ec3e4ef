# SPDX-License-Identifier: Apache-2.0

"""The matrix of the throughput of network functions beside each other."""

from collections.abc import Iterator, Mapping
import dataclasses
import enum

from nova_rt.rules import neighbours


class Origin(enum.StrEnum):
    """The origin of the value of a cell."""

    PUBLISHED = 'published'
    MEASURED = 'measured'
    ESTIMATED = 'estimated'


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """The throughput of *target* beside *competitor*; alone, it is 1.

    :ivar stdev: the standard deviation of the value; None: unknown
    :ivar runs: the number of measurements; None: unknown
    """

    target: str
    competitor: str
    value: float
    origin: Origin
    stdev: float | None = None
    runs: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Matrix:
    """The cells for targets of one kind, one for each pair of types.

    :ivar types: the titles by type, in the order of the file
    :ivar rows: the values by target, then by competitor
    :ivar means: the row means that the source of the numbers gives
    :ivar known: the cells by (target, competitor)
    :ivar conditions: the conditions of the measurements, as text by name
    """

    kind: neighbours.Kind
    types: Mapping[str, str]
    rows: Mapping[str, Mapping[str, float]]
    means: Mapping[str, float]
    known: Mapping[tuple[str, str], Cell]
    conditions: Mapping[str, str]

    def cell(self, target: str, competitor: str) -> float:
        """Returns the value of a pair; 1 where a type is unknown."""
        return self.rows.get(target, {}).get(competitor, 1.0)

    def cells(self) -> Iterator[Cell]:
        """Yields all cells, row by row."""
        for target in self.types:
            for competitor in self.types:
                yield self.known[target, competitor]

    def mean(self, target: str) -> float:
        """Returns the mean of a row, as in table III of the paper."""
        row = self.rows[target]
        return sum(row.values()) / len(row)
