# SPDX-License-Identifier: Apache-2.0

"""Compares a report of rt-probe with the CPU time that was really used."""

import bisect
from collections.abc import Callable, Iterator, Sequence
import contextlib
import threading
import time
from typing import Any, NamedTuple

SECONDS = 1.0
_EVERY_S = 0.004
#: The window of the report begins and ends within this time of the reported
#: time: the probe may wait for its budget before it reads or writes.
_EDGE_NS = 150_000_000
_STEP_NS = 5_000_000
#: A budget that is charged at ticks may be overdrawn by a tick in a period.
_OVERDRAFT = 0.04
#: The readings of truth and probe are this exact.
_EXACT = 0.005

#: Pairs of a time and the CPU time that was used until then, both in ns; both
#: only grow.
Readings = Sequence[tuple[int, int]]


class Result(NamedTuple):
    """One report and the truth.

    :ivar least: what the group used, at least, in the window of the report
    :ivar most: what the group used, at most
    :ivar wrong: how the report lies; '' if it does not
    """

    said: dict[str, Any]
    least: float
    most: float
    limit: float | None
    wrong: str


@contextlib.contextmanager
def followed(used_ns: Callable[[], int], favour: Callable[[], None]
             ) -> Iterator[Readings]:
    """Yields readings, which grow until the end of the last window.

    :param used_ns: reads the CPU time
    :param favour: gives the calling thread a priority at which the readings
        are frequent
    """
    readings: list[tuple[int, int]] = []
    ended = threading.Event()

    def follow() -> None:
        favour()
        while not ended.wait(_EVERY_S):
            readings.append((time.time_ns(), used_ns()))
    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield readings
        time.sleep(2 * _EDGE_NS / 1e9)
    finally:
        ended.set()
        thread.join()


def judge(said: dict[str, Any], readings: Readings, limit: float | None,
          offset: float = 0.0, cpus: float = float('inf')) -> Result:
    """Compares a report with the truth.

    :param limit: what the group gets at most, in CPUs; None: nobody knows
    :param offset: how far the clock of the readings is ahead of the clock of
        the probe, in s
    :param cpus: the number of CPUs that can be used at a time
    """
    least, most = _truth(readings, said['at'] + offset, cpus)
    return Result(said, least, most, limit, _lie(said, least, most, limit))


def _truth(readings: Readings, at: float, cpus: float
           ) -> tuple[float, float]:
    """Returns the least and the most that was used in the window."""
    wall, end = SECONDS * 1e9, 1e9 * at
    windows = [_used(readings, end - back - wall, end - back, cpus)
               for back in range(-_EDGE_NS, _EDGE_NS + 1, _STEP_NS)]
    return (max(0.0, min(least for least, _ in windows)),
            max(most for _, most in windows))


def _used(readings: Readings, since: float, until: float, cpus: float
          ) -> tuple[float, float]:
    """Returns the least and the most that was used between two times."""
    (first_low, first_high), (last_low, last_high) = (
        _around(readings, at, cpus) for at in (since, until))
    wall = until - since
    return (last_low - first_high) / wall, (last_high - first_low) / wall


def _around(readings: Readings, at: float, cpus: float
            ) -> tuple[float, float]:
    """Returns the least and the most that was used until a time.

    The counter only grows, by at most *cpus* in each unit of time.  So at any
    time the counter lies between the readings around that time, and near
    them.
    """
    after = bisect.bisect_left(readings, (at, 0))
    last = len(readings) - 1
    (left, low), (right, high) = (readings[max(0, after - 1)],
                                  readings[min(last, after)])
    return (max(low, high - cpus * max(0.0, right - at)),
            min(high, low + cpus * max(0.0, at - left)))


def _lie(said: dict[str, Any], least: float, most: float,
         limit: float | None) -> str:
    low, high, told = said['lower'], said['upper'], said['available']
    if low is not None and low > most + _EXACT:
        return f'lower {low} is more than was used, {most:.4f}'
    if high is not None and high < least - _EXACT:
        return f'upper {high} is less than was used, {least:.4f}'
    if limit is not None:
        bound = limit + _OVERDRAFT
        if max(told or 0, low or 0) > bound:
            return f'it told more than the limit, {limit:.4f}'
    if (said['method'] == 'bound') != (told is None):
        return 'it told a value and "bound"'
    return ''
