# SPDX-License-Identifier: Apache-2.0

"""Runs rt-probe in a place, and compares its report with the truth."""

import bisect
from collections.abc import Sequence
import json
import os
import random
import subprocess
import threading
import time
from typing import Any, NamedTuple

from tests.full.probe import cells
from tests.full.probe import places

SECONDS = 1.0
_EVERY_S = 0.004
#: The window of the report begins and ends within this time of the reported
#: time: the probe may wait for its budget before it reads or writes.
_EDGE_NS = 150_000_000
#: A budget that is charged at ticks may be overdrawn by a tick in a period.
_OVERDRAFT = 0.04
#: The readings of truth and probe are this exact.
_EXACT = 0.005


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


def run(cell: cells.Cell, seed: int, bundle: str) -> Result:
    """Runs the probe in one cell with the random values of a seed."""
    with cell(random.Random(seed)) as place:  # noqa: S311
        said, readings = _once(place, bundle)
    least, most = _truth(readings, said['at'])
    return Result(said, least, most, place.limit,
                  _lie(said, least, most, place.limit))


def _once(place: places.Place, bundle: str
          ) -> tuple[dict[str, Any], Sequence[tuple[int, int]]]:
    readings: list[tuple[int, int]] = []
    ended = threading.Event()

    def follow() -> None:
        # This affects this thread only, so that the truth is read often.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)
        while not ended.wait(_EVERY_S):
            readings.append((time.time_ns(), place.used_ns()))
    thread = threading.Thread(target=follow)
    thread.start()
    try:
        done = subprocess.run(
            [*place.prefix, place.python, '-I', '-S', bundle, 'once',
             '--interval', str(SECONDS), *place.options],
            capture_output=True, text=True)
        time.sleep(2 * _EDGE_NS / 1e9)
    finally:
        ended.set()
        thread.join()
    if done.returncode:
        raise RuntimeError(f'rt-probe: {done.stderr}')
    return json.loads(done.stdout), readings


def _truth(readings: Sequence[tuple[int, int]], at: float
           ) -> tuple[float, float]:
    """Returns the least and the most that was used in the window."""
    wall, end = SECONDS * 1e9, 1e9 * at
    found = [_used(readings, end - back - wall, end - back) for back in range(
        -_EDGE_NS, _EDGE_NS + 1, 5_000_000)]
    return (max(0.0, min(least for least, _ in found)),
            max(most for _, most in found))


def _used(readings: Sequence[tuple[int, int]], since: float, until: float
          ) -> tuple[float, float]:
    """Returns the least and the most that was used between two times.

    The counter only grows, so at any time it lies between the readings around
    that time.
    """
    (first_low, first_high), (last_low, last_high) = (
        _around(readings, at) for at in (since, until))
    wall = until - since
    return (last_low - first_high) / wall, (last_high - first_low) / wall


def _around(readings: Sequence[tuple[int, int]], at: float
            ) -> tuple[int, int]:
    """Returns the reading before a time, and the one after."""
    after = bisect.bisect_left(readings, (at, 0))
    last = len(readings) - 1
    return (readings[max(0, after - 1)][1], readings[min(last, after)][1])


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
