# SPDX-License-Identifier: Apache-2.0

"""Measures how late a SCHED_FIFO task wakes up beside the monitor.

usage: .venv/bin/python -m benchmarks.wakeups [rounds]

The benchmark measures like cyclictest: a task of priority 60 on one CPU, in a
watched group, sleeps until a time of the clock 1 ms later, and notes how late
it wakes up.  Rounds with and without the programs alternate; the difference
must be within the spread of the rounds.  Needs root, cc and cgroup v1, and 50
ms every second of real-time budget for its group; exits with 1 if the
difference is larger.
"""

import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

from benchmarks import stand_ins
from nova_rt.machine.kernel import two_files

SOURCE = pathlib.Path(__file__).with_suffix('.c')
ROUNDS, WAKEUPS, CPU = 20, 500, 1
PERIOD_US, RUNTIME_US = 1_000_000, 50_000
_PARTS = {'p50': 0.5, 'p99': 0.99, 'longest': 1.0}


def late_ns(program: str, group: pathlib.Path, folder: str) -> list[int]:
    """Returns how late each wake-up was, ascending."""
    path = f'{folder}/late'
    subprocess.run(  # noqa: PLW1509
        [program, str(WAKEUPS), path], check=True,
        preexec_fn=stand_ins.joining(group, CPU))
    return sorted(one for one, in struct.iter_unpack(
        '=q', pathlib.Path(path).read_bytes()))


def _at(late: list[int], part: float) -> int:
    return late[min(len(late) - 1, int(part * len(late)))]


def _report(name: str, without: list[int], under: list[int]) -> bool:
    extra = statistics.median(under) - statistics.median(without)
    low, _, high = statistics.quantiles(without, n=4)
    print(f'{name:8} {statistics.median(without) / 1000:7.1f} us without, '
          f'{statistics.median(under) / 1000:7.1f} us with, least '
          f'{min(without) / 1000:.1f} and {min(under) / 1000:.1f}; middle '
          f'half without {low / 1000:.1f} to {high / 1000:.1f}')
    return extra <= high - low


def main() -> int:
    """Runs all rounds and returns the exit status."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    without, under = [], []
    with (tempfile.TemporaryDirectory() as folder,
          stand_ins.groups('late') as groups):
        program, group = stand_ins.compiled(SOURCE, folder), groups['late']
        for path in (group.parent, group):
            (path / two_files.PERIOD).write_text(str(PERIOD_US))
            (path / two_files.RUNTIME).write_text(str(RUNTIME_US))
        watched = stand_ins.server('late', group)
        for _ in range(rounds):
            without.append(late_ns(program, group, folder))
            with stand_ins.monitor(watched):
                under.append(late_ns(program, group, folder))
    met = [_report(name, *([_at(one, part) for one in times]
                           for times in (without, under)))
           for name, part in _PARTS.items()]
    return 0 if all(met) else 1


if __name__ == '__main__':
    sys.exit(main())
