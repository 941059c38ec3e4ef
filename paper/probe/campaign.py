# SPDX-License-Identifier: Apache-2.0

"""How far ``rt-probe`` is from the truth, and what it costs: ``run.sh probe``.

Each cell is in the data as soon as it is measured; the same command goes on
where it was ended.
"""

import argparse
from collections.abc import Callable, Iterator
import fnmatch
import random
import time
from typing import Any

from paper.probe import costs
from paper.probe import latency
from paper.probe import records
from paper.probe import shares
from paper.probe import table
from paper import resumable

_Row = tuple[Callable[[], Iterator[Any]], Callable[[Any], records.Record]]
ROWS: dict[str, _Row] = {
    **shares.ROWS, **costs.ROWS,
    latency.LATENCY: (latency.latency, latency.measure_latency)}


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument('--rows', nargs='+', choices=ROWS, default=[*ROWS],
                        help='measure only these (default: all)')
    parser.add_argument('--cells', default='*', metavar='PATTERN',
                        help='of them only those of such names')
    resumable.register(parser, 'probe/probe.csv')


def run(options: argparse.Namespace) -> str:
    """Measures what is missing; returns the table of all that is known."""
    end = resumable.begin(options)
    data = records.Data(options.data)
    for name in options.rows:
        cells, measure = ROWS[name]
        wanted = [cell for cell in cells() if _is_wanted(
            data, name, str(cell), options.cells)]
        # What the machine does for a while is not all in cells of one kind.
        random.shuffle(wanted)
        for cell in wanted:
            if time.monotonic() >= end:
                break
            data.add(measure(cell))
    return f'{table.text(data)}\n{latency.text(data)}'


def _is_wanted(data: records.Data, row: str, cell: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(cell, pattern) and not data.has(row, cell)
