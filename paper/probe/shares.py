# SPDX-License-Identifier: Apache-2.0

"""Measures rows of the table: the probe's reports of constant shares."""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import itertools
import time

from paper.probe import agent
from paper.probe import records
from paper.probe import stage as rt_stage

THROTTLED, BURST = 'throttled', 'burst'
_SHARES = tuple(number / 10 for number in range(1, 10))
_NEIGHBOURS = (0.0, 0.5, 1.0)
#: The seconds of a window, and its least number of periods.
_SECONDS, _PERIODS = 2.0, 20


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """The settings of a cell.

    :ivar beside: the part of the CPU that a neighbour wants
    :ivar load: the part of the reservation that the VNF wants
    """

    kind: str
    share: float
    period_us: int
    beside: float = 0.0
    load: float = 1.0

    def __str__(self) -> str:
        return (f'{self.kind} P={self.period_us // 1000} s={self.share} '
                f'neighbour={self.beside:g} vnf={self.load:g}')


Measure = Callable[[Cell], records.Record]


def throttled_cells() -> Iterator[Cell]:
    """Returns cells in which the VNF uses all it gets."""
    for kind, beside, share in itertools.product(
            (rt_stage.QUOTA, rt_stage.BUDGET, rt_stage.THREAD), _NEIGHBOURS,
            _SHARES):
        yield Cell(kind, share, 100_000, beside)


def burst_cells() -> Iterator[Cell]:
    """Returns cells in which the VNF is idle, or uses half."""
    for kind, period_us, load, share in itertools.product(
            (rt_stage.QUOTA, rt_stage.BUDGET), (20_000, 100_000), (0.0, 0.5),
            _SHARES):
        yield Cell(kind, share, period_us, load=load)


@contextlib.contextmanager
def _loaded(stage: rt_stage.Stage, cell: Cell, part: float
            ) -> Iterator[rt_stage.Task | None]:
    if not part:
        yield None
        return
    with rt_stage.task(part, stage.cpus) as task:
        stage.enter(task, cell.share, cell.period_us)
        yield task


def throttled(cell: Cell) -> records.Record:
    """Runs the VNF and the probe, and measures the truth meanwhile."""
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(rt_stage.Stage(cell.kind).up())
        stage.reserve(cell.share, cell.period_us)
        if cell.beside:
            stack.enter_context(rt_stage.task(cell.beside, {stage.cpu}))
        vnf = stack.enter_context(_loaded(stage, cell, 1.0))
        options = ['--interval', str(_SECONDS)]
        if cell.kind == rt_stage.THREAD and vnf is not None:
            options += ['--pid', str(vnf.pid), '--period-us',
                        str(cell.period_us)]
        stack.enter_context(rt_stage.watching())
        report, truth = agent.once(stage, options, cell.period_us, _SECONDS)
    return _record(THROTTLED, cell, report, truth)


def burst(cell: Cell) -> records.Record:
    """Measures the truth with a busy loop, then runs the VNF."""
    seconds = max(_SECONDS / 2, _PERIODS * cell.period_us / 1e6)
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(rt_stage.Stage(cell.kind).up())
        stage.reserve(cell.share, cell.period_us)
        stack.enter_context(rt_stage.watching())
        with _loaded(stage, cell, 1.0):
            rt_stage.truth(stage, 0.2, cell.period_us)
            truth = rt_stage.truth(stage, seconds, cell.period_us)
        stack.enter_context(_loaded(stage, cell, cell.share * cell.load))
        # The busy loop leaves an overrun, which the VNF must pay back first.
        time.sleep(seconds)
        report, _ = agent.once(stage, ('--burst', 'idle'), cell.period_us, 1)
    return _record(BURST, cell, report, truth)


def _record(row: str, cell: Cell, report: agent.Said, truth: float
            ) -> records.Record:
    return records.Record(row, str(cell), report['available'], truth,
                          report['lower'], report['upper'], report['method'])


ROWS: dict[str, tuple[Callable[[], Iterator[Cell]], Measure]] = {
    THROTTLED: (throttled_cells, throttled), BURST: (burst_cells, burst)}
