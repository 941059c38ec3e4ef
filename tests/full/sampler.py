# SPDX-License-Identifier: Apache-2.0

"""Looks at the kernel's budgets of both nodes, ten times a second.

On RT_GROUP_SCHED a budget holds on every pCPU: the sum over the guests is
what is handed out of each of them.
"""

import contextlib
import pathlib
import threading

from cloud import cleanup
from cloud.full import nodes
from cloud import guests

PPM = 1_000_000
INTERVAL = 0.1


class Sampler:
    """A thread that looks until the with-block ends.

    :ivar samples: how often it looked
    :ivar highest: ppm of each pCPU, the most seen, by kind of guests
    :ivar over: what was beyond the pool of its node
    """

    def __init__(self) -> None:
        self.samples = 0
        self.highest = dict.fromkeys(guests.KINDS, 0)
        self.over: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> 'Sampler':
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.samples += 1
            for guest in guests.KINDS:
                self._look(guest)

    def _look(self, guest: str) -> None:
        held = handed_out(guest)
        self.highest[guest] = max(self.highest[guest], held)
        if held > nodes.POOL_US[guest]:
            self.over.append(f'{guest}: {held} of {nodes.POOL_US[guest]}')


def handed_out(guest: str) -> int:
    """ppm of each pCPU that the guests of a node hold."""
    machine = cleanup.CGROUPS / 'cpu' / nodes.group(guest) / 'machine'
    return sum(map(_ppm, machine.glob('*')))


def _ppm(group: pathlib.Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        runtime = int((group / 'cpu.rt_runtime_us').read_text())
        return runtime * PPM // int(
            (group / 'cpu.rt_period_us').read_text())
    return 0
