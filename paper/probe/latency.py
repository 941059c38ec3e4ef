# SPDX-License-Identifier: Apache-2.0

"""Measures response times of rt-walk with and without a probe."""

from collections.abc import Iterator, Sequence
import contextlib
import statistics
import time

import numpy as np

from paper.probe import agent
from paper.probe import records
from paper.probe import stage as rt_stage
from paper import report
from paper import rtwalk
from paper import scheduling
from paper import workload as rt_workload
from rt_models.colocation import summary

LATENCY = 'latency'
HEADER = ('Probe', 'n', 'Mean us', 'p99 us', 'CV of p99', 'to no probe')
WITHOUT = 'without'
#: The arguments of rt-probe, by the names of the ways.
MODES = {WITHOUT: None, 'passive': (), 'bursts': ('--burst', 'idle')}
_SHARE, _PERIOD_US = 0.5, 20_000
#: Requests use a tenth of a CPU, which leaves time for bursts.
_WORKLOAD = rt_workload.Workload(rt_workload.Distribution(20_000),
                                 rt_workload.Distribution(2_000, fixed=True))
_REQUESTS, _WARM_UP, _RUNS = 1000, 50, 5
_PERCENTILE = 99


def latency() -> Iterator[str]:
    """Yields the cells of response times."""
    yield from (f'{mode} #{number + 1}' for mode in MODES
                for number in range(_RUNS))


def measure_latency(cell: str) -> records.Record:
    """Measures the 99th percentile in us; *lower* is the mean.

    The requests are the same with and without a probe.
    """
    mode, _, number = cell.partition(' #')
    rtwalk.build()
    endpoint = rtwalk.Endpoint()
    stage = rt_stage.Stage(rt_stage.BUDGET)
    beside = [*scheduling.BESIDE, str(1 - stage.cpu)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(stage.up())
        stage.reserve(_SHARE, _PERIOD_US)
        stack.enter_context(rtwalk.server(endpoint, stage.inside))
        options = MODES[mode]
        if options is not None:
            probe = stack.enter_context(agent.running(stage, options))
            next(probe.reports(time.monotonic() + 10))
        times = rtwalk.ask(endpoint, _WORKLOAD, _REQUESTS + _WARM_UP,
                           int(number), beside).responses_us(_WARM_UP)
    return records.Record(LATENCY, cell,
                          float(np.percentile(times, _PERCENTILE)),
                          lower=float(times.mean()))


def text(data: records.Data) -> str:
    """Returns the modes as reStructuredText; '' if none was measured."""
    by_mode = {mode: [one for one in data.select(LATENCY)
                      if one.cell.startswith(f'{mode} ')] for mode in MODES}
    if not by_mode[WITHOUT]:
        return ''
    return report.table(HEADER, (
        _row(mode, runs, by_mode[WITHOUT])
        for mode, runs in by_mode.items() if runs))


def _row(mode: str, runs: Sequence[records.Record],
         without: Sequence[records.Record]) -> Sequence[object]:
    values = _values(runs)
    mean = statistics.mean(values)
    usual = statistics.mean(one.lower or 0 for one in runs)
    return (mode, len(runs), f'{usual:.0f}', f'{mean:.0f}',
            f'{100 * summary.cv(values):.1f} %',
            f'{mean / statistics.mean(_values(without)):.2f}')


def _values(runs: Sequence[records.Record]) -> list[float]:
    return [one.value for one in runs if one.value is not None]
