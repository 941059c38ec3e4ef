# SPDX-License-Identifier: Apache-2.0

"""Saturation of a chain of servers: the rate of Eq. 5, and the rate reached.

``benchmarks.chain`` measures one run; this module starts runs, and makes the
table of all runs.
"""

import argparse
from collections.abc import Iterator, Sequence
import csv
import pathlib
import subprocess
import sys

from benchmarks import chain
from paper import report
from paper import room

HEADER = ('Held by', 'Runs', 'Load average', 'Error of Eq. 5',
          'Error beside neighbours', 'Interval holds the rate')
_HERE = pathlib.Path(__file__).parent
_DATA = _HERE / 'build' / 'chain' / 'chain.csv'
RUNS = 3

Row = dict[str, str]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument('--reserved', action='store_true',
                        help='give each server a reservation in place of a '
                        'quota')
    parser.add_argument('--busy', type=int, default=0, metavar='N',
                        help='busy processes beside the chain (%(default)s)')
    parser.add_argument('--data', type=pathlib.Path, default=_DATA,
                        metavar='FILE', help='the CSV file of runs, for old '
                        'and new runs (%(default)s)')
    parser.add_argument('--runs', type=int, default=RUNS, metavar='N',
                        help='runs (%(default)s; 0: no run, only the table)')
    parser.add_argument('--short', action='store_true', help='only check that '
                        'the experiment works: one run')


def run(options: argparse.Namespace) -> str:
    """Makes the runs of the options; returns the table of the file.

    :raises CalledProcessError: when a run could not be made
    """
    options.data.parent.mkdir(parents=True, exist_ok=True)
    if options.reserved and options.runs:
        room.require(chain.ALL)
    for _ in range(min(options.runs, 1) if options.short else options.runs):
        command = [sys.executable, '-W', 'ignore', '-m', 'benchmarks.chain',
                   '--busy', str(options.busy), '--data',
                   str(options.data.resolve()),
                   *(['--reserved'] if options.reserved else [])]
        before = len(_runs(options.data))
        # A rate outside of the limits ends with an error, but is a result.
        done = subprocess.run(command, cwd=_HERE.parent, check=False)
        if len(_runs(options.data)) == before:
            raise subprocess.CalledProcessError(done.returncode, command)
    return text(_runs(options.data))


def _runs(path: pathlib.Path) -> Sequence[Row]:
    if not path.exists():
        return []
    with path.open(newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def text(runs: Sequence[Row]) -> str:
    """Returns a line for quotas and a line for reservations."""
    return report.table(HEADER, _rows(runs))


def _rows(runs: Sequence[Row]) -> Iterator[Sequence[object]]:
    for held in (chain.QUOTA, chain.RESERVATION):
        some = [run for run in runs if run['held'] == held]
        if some:
            yield (held, len(some), _span(
                [float(run['load_average']) for run in some], ''),
                _errors(some, 'most_hz'), _errors(some, 'beside_hz'),
                _held(some))


def _held(runs: Sequence[Row]) -> str:
    """Returns in how many runs the interval held the rate.

    With a reservation, the interval is a single rate.
    """
    if all(run['least_hz'] == run['most_hz'] for run in runs):
        return '-'
    return f'{sum(map(_inside, runs))} of {len(runs)}'


def _inside(run: Row) -> bool:
    return (float(run['least_hz']) <= float(run['reached_hz'])
            <= float(run['most_hz']))


def _errors(runs: Sequence[Row], column: str) -> str:
    return _span([100 * (float(run[column]) / float(run['reached_hz']) - 1)
                  for run in runs], ' %')


def _span(values: Sequence[float], unit: str) -> str:
    return f'{min(values):.0f} to {max(values):.0f}{unit}'
