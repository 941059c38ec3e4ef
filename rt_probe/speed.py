# SPDX-License-Identifier: Apache-2.0

"""Measures the speed of the CPU: the CPU time of reference tasks.

Time that other tasks take from the CPU changes the wall time of a task, but
not its CPU time.  The CPU's frequency, its sibling thread and its caches
change the CPU time.
"""

from collections.abc import Callable, Mapping
import hashlib
import json
import os
import time

from rt_probe import errors

#: A task runs at least this many times, and until its runs took this much
#: CPU time together.
REPEATS, _ENOUGH_NS = 21, 5_000_000
#: The result is this quantile of the times.  Slower runs met an interrupt,
#: or caches that others had filled.
_FASTEST = 0.02
_BLOCK = bytes(16 * 1024)
#: A block larger than the caches that a core has for itself.
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
    """Returns the CPU time of each reference task, in us.

    :param repeats: the least number of runs of a task
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
    """Returns the speed relative to a calibration: 2 is twice as fast."""
    return {name: before_us[name] / time_us
            for name, time_us in now_us.items() if name in before_us}


def write(path: str, times_us: Mapping[str, float]) -> None:
    """Saves a calibration; the file is replaced at once.

    :raises ProbeError: when the file cannot be written
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
    """Reads a calibration.

    :returns: the CPU time of each reference task, in us
    :raises ProbeError: when the file cannot be read or is not a calibration
    """
    try:
        with open(path, encoding='ascii') as file:
            document = json.load(file)
        if document['format'] != _FORMAT:
            raise ValueError('the file has another format')
        times = {str(name): float(time_us)
                 for name, time_us in document['us'].items()}
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
