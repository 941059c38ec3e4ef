# SPDX-License-Identifier: Apache-2.0

"""Runs work beside busy neighbours, reserved and not: ``run.sh pinning``.

Each piece of work is in the data as soon as the work is done; the same command
continues where it was stopped.
"""

import argparse
import random
import shutil
import subprocess
import time

from nova_rt.rules import exception
from paper.pinning import records
from paper.pinning import table
from paper.pinning import ways
from paper.pinning import workloads
from paper import resumable
from paper import room

_PATIENCE_S = 120


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    resumable.register(parser, 'pinning/pinning.csv', runs=5)


def run(options: argparse.Namespace) -> str:
    """Measures what is missing; returns the table of all results."""
    end = resumable.begin(options)
    data = records.Data(options.data)
    missing = _missing(data, options.runs)
    if options.seconds and missing:
        room.require(ways.RESERVATION)
    for workload, way in missing:
        if time.monotonic() >= end:
            break
        with ways.neighbours():
            data.add(workload, way, *measure(workload, way))
    return table.text(data)


def _missing(data: records.Data, runs: int) -> list[tuple[str, str]]:
    """Returns the missing work in rounds, each in a random order."""
    missing = []
    for number in range(runs):
        one = [(workload, way) for workload in workloads.WORKLOADS
               for way in ways.WAYS
               if len(data.select(workload, way)) <= number]
        random.shuffle(one)
        missing += one
    return missing


def measure(workload: str, way: str) -> tuple[float, float]:
    """Returns the seconds and the CPU seconds of one piece of work.

    :raises CannotMeasure: when its program is missing or fails
    """
    work = workloads.WORKLOADS[workload]
    if shutil.which(work.needs) is None:
        raise exception.CannotMeasure(
            what=workload, reason=f'{work.needs} is not installed')
    with ways.WAYS[way]() as group:
        # Apache's processes do not run as root.
        group.folder.chmod(0o755)
        for name, text in work.files.items():
            path = group.folder / name
            path.write_text(text.replace('{folder}', str(group.folder)))
            path.chmod(0o755)
        begin, used = time.monotonic(), group.used_ns()
        done = subprocess.run(
            group.command(['unshare', '-n', 'sh', '-c', work.script]),
            cwd=group.folder, stdin=subprocess.DEVNULL, check=False,
            capture_output=True, text=True, timeout=_PATIENCE_S,
            start_new_session=True)
        if done.returncode:
            raise exception.CannotMeasure(
                what=workload, reason=f'it fails: {done.stderr[-200:]}')
        return (time.monotonic() - begin, (group.used_ns() - used) / 1e9)
