# SPDX-License-Identifier: Apache-2.0

"""The throughput that pairs of network functions leave each other."""

from collections.abc import Iterator, Mapping
import dataclasses
import enum

from nova_rt.rules import neighbours


class Origin(enum.StrEnum):
    """How well a cell is known."""

    PUBLISHED = 'published'
    MEASURED = 'measured'
    ESTIMATED = 'estimated'


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """The throughput of *target* beside *competitor*, over that alone.

    :ivar stdev: how far the value may be off, in its unit; None: not told
    :ivar runs: how often it was measured; None: not told
    """

    target: str
    competitor: str
    value: float
    origin: Origin
    stdev: float | None = None
    runs: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Matrix:
    """The cells for targets of one kind; square.

    :ivar types: what each type is called, in the order of the file
    :ivar rows: values by target, then by competitor
    :ivar means: row means that the source of the numbers gives
    :ivar known: how well each cell is known, by (target, competitor)
    :ivar conditions: how it was measured, in words, by name
    """

    kind: neighbours.Kind
    types: Mapping[str, str]
    rows: Mapping[str, Mapping[str, float]]
    means: Mapping[str, float]
    known: Mapping[tuple[str, str], Cell]
    conditions: Mapping[str, str]

    def cell(self, target: str, competitor: str) -> float:
        """The value, and 1 where a type is unknown."""
        return self.rows.get(target, {}).get(competitor, 1.0)

    def cells(self) -> Iterator[Cell]:
        """All of them, row by row."""
        for target in self.types:
            for competitor in self.types:
                yield self.known[target, competitor]

    def mean(self, target: str) -> float:
        """The mean of a row, its own column included (paper, table III)."""
        row = self.rows[target]
        return sum(row.values()) / len(row)
