# SPDX-License-Identifier: Apache-2.0

"""How fast the CPU is while we have it: reference tasks in CPU time.

CPU time, not wall time: what others take of the CPU does not change it, but
its frequency, its sibling thread and its caches do.
"""

from collections.abc import Callable, Mapping
import hashlib
import json
import os
import time

from rt_probe import errors

#: Of one task, at least; more of a short one, until it took so much CPU time.
REPEATS, _ENOUGH_NS = 21, 5_000_000
#: What counts is how long the fastest part of them took: the others met an
#: interrupt, or caches that others had filled.
_FASTEST = 0.02
_BLOCK = bytes(16 * 1024)
#: More than the caches that one core has to itself.
_MEMORY = 2 * 1024 * 1024
_FORMAT = 'rt-probe-calibration/1'


def _sha256() -> Callable[[], object]:
    return lambda: hashlib.sha256(_BLOCK).digest()


def _memory() -> Callable[[], object]:
    here, there = memoryview(bytearray(_MEMORY)), bytearray(_MEMORY)

    def copy() -> None:
        there[:] = here
    return copy


TASKS = {'sha256': _sha256, 'memory': _memory}


def measure(repeats: int = REPEATS) -> dict[str, float]:
    """The CPU time of each task, in us.

    :param repeats: least number of them
    """
    return {name: _time(make(), repeats) for name, make in TASKS.items()}


def _time(task: Callable[[], object], repeats: int) -> float:
    times: list[int] = []
    task()
    begin = before = time.thread_time_ns()
    while len(times) < repeats or before - begin < _ENOUGH_NS:
        task()
        now = time.thread_time_ns()
        times.append(now - before)
        before = now
    return sorted(times)[int(_FASTEST * len(times))] / 1000


def ratios(now_us: Mapping[str, float], before_us: Mapping[str, float]
           ) -> dict[str, float]:
    """Speed against a calibration: 2 is twice as fast."""
    return {name: before_us[name] / time_us
            for name, time_us in now_us.items() if name in before_us}


def write(path: str, times_us: Mapping[str, float]) -> None:
    """Keep a calibration; the file is replaced at once.

    :raises ProbeError: it cannot be written
    """
    scratch = f'{path}.{os.getpid()}'
    try:
        with open(scratch, 'w', encoding='ascii') as file:
            json.dump({'format': _FORMAT, 'us': dict(times_us)}, file)
        os.replace(scratch, path)
    except OSError as error:
        raise errors.ProbeError(f'{path} cannot be written: {error.strerror}'
                                ) from error


def read(path: str) -> dict[str, float]:
    """A calibration.

    :raises ProbeError: it is none
    """
    try:
        with open(path, encoding='ascii') as file:
            found = json.load(file)
        if found['format'] != _FORMAT:
            raise ValueError('it is of another format')
        times = {str(name): float(time_us)
                 for name, time_us in found['us'].items()}
        if not all(0 < time_us < float('inf') for time_us in times.values()):
            raise ValueError('a time is not above 0')
    except OSError as error:
        raise errors.ProbeError(f'{path} cannot be read: {error.strerror}'
                                ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.ProbeError(
            f'{path} is not a calibration of rt-probe; make one with '
            f'"rt-probe calibrate {path}"') from error
    return times
