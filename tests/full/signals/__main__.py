# SPDX-License-Identifier: Apache-2.0

"""Compares the monitor with foreign servers: each is right or unclear.

usage: .venv/bin/python -m tests.full.signals [--write] [--count N] [NAME ...]

Servers of Debian packages, which are unpacked into a directory and not
installed, answer load generators that count by themselves.  Requests and
bytes must be equal, and p50 and p99 within 2 % plus 2 us, or the monitor must
say that the requests are unclear.  Exits with 1 if a number is wrong without a
word.  --write puts the lines into the table of the documentation, in place of
the older lines of the same traffic.
"""

import argparse
from collections.abc import Sequence
import csv
import pathlib
import sys
import tempfile

from tests.full.signals import catalogue
from tests.full.signals import stage as signals_stage
from tests.full.signals import web


def _write(lines: Sequence[Sequence[str]]) -> None:
    """Puts lines into the table; lines of new traffic come last."""
    with catalogue.TABLE.open(newline='') as file:
        head, *older = csv.reader(file)
    merged = {(line[0], line[1]): line for line in (*older, *lines)}
    with catalogue.TABLE.open('w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows(
            [head, *merged.values()])


def main() -> int:
    """Runs the suite; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--count', type=int, default=2_000, metavar='N')
    parser.add_argument('names', nargs='*', metavar='NAME',
                        choices=[[], *catalogue.SERVERS],
                        help=f'some of {", ".join(catalogue.SERVERS)}')
    args = parser.parse_args()
    names = [name for name in args.names or catalogue.SERVERS
             if not catalogue.SERVERS[name].missing]
    lines, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder, signals_stage.stage(
            pathlib.Path(folder), catalogue.packages(names)) as stage:
        web.prepare(stage)
        for name in names:
            for row in catalogue.SERVERS[name].rows(stage, args.count):
                print(f'{row.verdict:8} {row.name}, {row.traffic}: truth '
                      f'{row.truth}; monitor {row.told}', *row.differences()
                      if row.verdict == 'wrong' else (), flush=True)
                wrong += row.verdict == 'wrong'
                lines.append((row.name, row.traffic, str(row.truth),
                              row.told, row.verdict))
    if args.write:
        _write(lines)
    print(f'{len(lines)} lines, {wrong} wrong without a word')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
