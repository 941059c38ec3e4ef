# SPDX-License-Identifier: Apache-2.0

"""Runs the campaign: ``python -m tests.full.probe [--times N] [--seed N]``.

Exit status 1: a report excludes the truth.  NOVA_RT_MUSL_PYTHON names a
Python 3.11 that was built with musl, as musl.sh builds one; without the
variable, the cell with musl is left out.  --table FILE puts the row of each
cell into a table as soon as it is measured.
"""

import argparse
import collections
import csv
import os
import pathlib
import random
import sys
import tempfile

from rt_probe import bundle
from tests.full.probe import campaign
from tests.full.probe import cells
from tests.full.probe import truth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--times', type=int, default=43,
                        help='runs of each cell')
    parser.add_argument('--seed', type=int,
                        default=random.SystemRandom().randrange(10 ** 6))
    parser.add_argument('--cell', action='append', choices=list(cells.CELLS))
    parser.add_argument('--table', type=pathlib.Path)
    args = parser.parse_args()
    print(f'seed {args.seed}', flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        probe = f'{folder}/rt-probe.pyz'
        bundle.write(probe)
        for name in args.cell or cells.CELLS:
            found, loads = [], []
            for number in range(args.times):
                found.append(_run(name, args.seed + number, probe))
                loads.append(os.getloadavg()[0])
            row = _row(name, found, loads)
            wrong += sum(bool(result.wrong) for result in found)
            print(row, flush=True)
            if args.table:
                _write(args.table, row)
    return int(wrong > 0)


_HEAD = 'cell,runs,throttled,bound,within,widest,least load,most load'


def _write(table: pathlib.Path, row: str) -> None:
    """Puts the row of a cell into the table, in place of an older one."""
    older = table.read_text().splitlines()[1:] if table.exists() else []
    found = {next(csv.reader([line]))[0]: line for line in (*older, row)}
    table.write_text('\n'.join([_HEAD, *found.values()]) + '\n')


def _run(name: str, seed: int, probe: str) -> truth.Result:
    result = campaign.run(cells.CELLS[name], seed, probe)
    said = result.said
    print(f'{name}, seed {seed}: {said["method"]} {said["available"]} '
          f'[{said["lower"]}, {said["upper"]}] truth {result.least:.4f} to '
          f'{result.most:.4f}, limit {result.limit}'
          + (f' WRONG: {result.wrong}' if result.wrong else ''), flush=True)
    return result


def _row(name: str, found: list[truth.Result], loads: list[float]) -> str:
    methods = collections.Counter(result.said['method'] for result in found)
    widest = max((result.said['upper'] - result.said['lower']
                  for result in found
                  if result.said['method'] == 'throttled'), default=0)
    held = sum(not result.wrong for result in found)
    shown = f'"{name}"' if ',' in name else name
    return (f'{shown},{len(found)},{methods["throttled"]},{methods["bound"]},'
            f'{held},{widest:.3f},{min(loads):.0f},{max(loads):.0f}')


if __name__ == '__main__':
    sys.exit(main())
