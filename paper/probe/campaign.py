# SPDX-License-Identifier: Apache-2.0

"""Compares ``rt-probe`` with the truth, and measures its cost.

``run.sh probe``: each cell is in the data as soon as it is measured, and the
same command continues where it was stopped.
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
    """Adds the options of the command."""
    parser.add_argument('--rows', nargs='+', choices=ROWS, default=[*ROWS],
                        help='measure only these rows (default: all)')
    parser.add_argument('--cells', default='*', metavar='PATTERN',
                        help='measure only cells whose names match')
    resumable.register(parser, 'probe/probe.csv')


def run(options: argparse.Namespace) -> str:
    """Measures what is missing; returns the table of all results."""
    end = resumable.begin(options)
    data = records.Data(options.data)
    for name in options.rows:
        cells, measure = ROWS[name]
        wanted = [cell for cell in cells() if _is_wanted(
            data, name, str(cell), options.cells)]
        # In random order, a disturbance of some minutes does not affect one
        # kind of cells only.
        random.shuffle(wanted)
        for cell in wanted:
            if time.monotonic() >= end:
                break
            data.add(measure(cell))
    return f'{table.text(data)}\n{latency.text(data)}'


def _is_wanted(data: records.Data, row: str, cell: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(cell, pattern) and not data.has(row, cell)
