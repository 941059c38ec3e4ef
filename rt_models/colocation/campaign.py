# SPDX-License-Identifier: Apache-2.0

"""Each function alone and each pair, so many times, in random order."""

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
    """Each alone, and each pair, also of two of the same type."""
    return [*((name,) for name in types),
            *itertools.combinations_with_replacement(types, 2)]


def done(cell: Cell, records: rt_records.Records) -> int:
    """How often it was measured."""
    target, *rest = cell
    competitor = rest[0] if rest else ''
    count = len(records.of(target, competitor))
    # Two of the same type give two results a time.
    return count // 2 if target == competitor else count


def missing(types: Sequence[str], records: rt_records.Records, runs: int
            ) -> list[Cell]:
    """What is to be measured yet: rounds, each in random order."""
    counts = {cell: done(cell, records) for cell in cells(types)}
    rounds = []
    for number in range(runs):
        one = [cell for cell, count in counts.items() if count <= number]
        # What the machine does for a while is not all in one cell.
        random.shuffle(one)
        rounds.append(one)
    return [*itertools.chain(*rounds)]


def run(profiles: Sequence[rt_profile.Profile], records: rt_records.Records,
        setting: trial.Setting, runs: int, until: float,
        tell: Callable[[str], None]) -> bool:
    """Measure what is missing.

    :param runs: of each cell
    :param until: begin none later than this, of the monotonic clock
    :param tell: is given a line for each cell
    :returns: whether all is there
    :raises CannotMeasure: a function does not work
    :raises KernelError: there is no such reservation left
    """
    by_type = {each.type: each for each in profiles}
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
    """(target, competitor), of each in the cell."""
    first, *rest = cell
    yield first, rest[0] if rest else ''
    for other in rest:
        yield other, first
