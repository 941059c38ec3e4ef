# SPDX-License-Identifier: Apache-2.0

"""Reads the kernel's budgets of both nodes, ten times a second.

On RT_GROUP_SCHED a budget holds on every pCPU: each pCPU gives away the sum
over the guests.
"""

import contextlib
import pathlib
import threading

from cloud import cleanup
from cloud import computes
from cloud import settings

PPM = 1_000_000
INTERVAL = 0.1


class Sampler:
    """A thread that reads the budgets until the with-block ends.

    :ivar samples: how often it looked
    :ivar highest: ppm of each pCPU, the most seen, by node
    :ivar over: what was beyond the pool of its node
    """

    def __init__(self) -> None:
        self.samples = 0
        self._nodes = settings.load().nodes
        self.highest = {node.name: 0 for node in self._nodes}
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
            for node in self._nodes:
                self._look(node)

    def _look(self, node: computes.Node) -> None:
        held = handed_out(node)
        self.highest[node.name] = max(self.highest[node.name], held)
        if held > node.pool_us:
            self.over.append(f'{node.name}: {held} of {node.pool_us}')


def handed_out(node: computes.Node) -> int:
    """Returns the ppm of each pCPU that the guests of a node hold."""
    machine = cleanup.CGROUPS / 'cpu' / node.group / 'machine'
    return sum(map(_ppm, machine.glob('*')))


def _ppm(group: pathlib.Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        runtime = int((group / 'cpu.rt_runtime_us').read_text())
        return runtime * PPM // int(
            (group / 'cpu.rt_period_us').read_text())
    return 0
