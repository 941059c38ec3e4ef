# SPDX-License-Identifier: Apache-2.0

"""Measures each function alone and each pair, several times each.

The order of the measurements is random.
"""

from collections.abc import Callable, Iterator, Sequence
import itertools
import random
import time

from rt_models.colocation import profile as rt_profile
from rt_models.colocation import records as rt_records
from rt_models.colocation import trial

#: One or two functions, by type.
Cell = tuple[str, ...]


def cells(types: Sequence[str]) -> list[Cell]:
    """Returns each type alone and each pair, with pairs of equal types."""
    return [*((name,) for name in types),
            *itertools.combinations_with_replacement(types, 2)]


def done(cell: Cell, records: rt_records.Records) -> int:
    """Returns how often a cell was measured."""
    target, *rest = cell
    competitor = rest[0] if rest else ''
    count = len(records.rates(target, competitor))
    # A pair of equal types gives two results for each measurement.
    return count // 2 if target == competitor else count


def missing(types: Sequence[str], records: rt_records.Records, runs: int
            ) -> list[Cell]:
    """Returns the cells to be measured, in rounds of random order."""
    counts = {cell: done(cell, records) for cell in cells(types)}
    rounds = []
    for number in range(runs):
        in_round = [cell for cell, count in counts.items() if count <= number]
        # The random order spreads a temporary disturbance of the machine
        # over many cells.
        random.shuffle(in_round)
        rounds.append(in_round)
    return [*itertools.chain(*rounds)]


def run(profiles: Sequence[rt_profile.Profile], records: rt_records.Records,
        setting: trial.Setting, runs: int, until: float,
        tell: Callable[[str], None]) -> bool:
    """Measures the cells that are missing.

    :param runs: the number of runs of each cell
    :param until: the time of the monotonic clock after which no measurement
        begins
    :param tell: a function that is called with a line for each measurement
    :returns: whether all cells are measured
    :raises CannotMeasure: when a function does not work
    :raises KernelError: when the host has no room for the reservation
    """
    by_type = {profile.type: profile for profile in profiles}
    for cell in missing([*by_type], records, runs):
        if time.monotonic() >= until:
            return False
        rates = trial.measure([by_type[name] for name in cell], setting)
        for (target, competitor), rate in zip(_beside(cell), rates,
                                              strict=True):
            records.add(target, competitor, rate)
        tell(f'{" beside ".join(cell)}: '
             f'{", ".join(f"{rate:.5g}" for rate in rates)}')
    return True


def _beside(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yields (target, competitor) for each function of the cell."""
    first, *rest = cell
    yield first, rest[0] if rest else ''
    for other in rest:
        yield other, first
