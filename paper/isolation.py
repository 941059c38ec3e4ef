# SPDX-License-Identifier: Apache-2.0

"""Measures the four cases of Fig. 8 with any server."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import pathlib
from typing import Protocol

import numpy as np

from paper import measured
from paper import published
from paper import report
from paper import samples

#: us.  In the paper, with the fair scheduler and noise, less than 70 % of the
#: requests are below this.
GOOD_US = 2000

#: The response times of each run, by (scheduler, with noise).
Cases = Mapping[tuple[str, bool], Sequence[samples.Floats]]
#: Returns a context during which neighbours run under a scheduler.
Noise = Callable[[str], contextlib.AbstractContextManager[None]]


class Server(Protocol):
    """A server to be measured."""

    def running(self, scheduler: str
                ) -> contextlib.AbstractContextManager[Sequence[str]]:
        """Yields the command that starts clients.

        :param scheduler: 'fair' or 'reservation'
        """

    def measure(self, client: Sequence[str], title: str
                ) -> list[samples.Floats]:
        """Returns the response times of each run in us."""


def run(server: Server, noise: Noise) -> Cases:
    """Measures all cases, one after the other."""
    return {(scheduler, noisy): _case(server, scheduler,
                                      noise if noisy else None)
            for scheduler, noisy in published.FIG8}


def _case(server: Server, scheduler: str, noise: Noise | None
          ) -> list[samples.Floats]:
    title = name(scheduler, noise is not None)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.running(scheduler))
        if noise:
            stack.enter_context(noise(scheduler))
        times = server.measure(client, title)
    print(f'{title}: p99 {p99_us(times).value:.0f} us', flush=True)
    return times


def name(scheduler: str, noisy: bool) -> str:
    """Returns the name of a case, for people and files."""
    return f'{scheduler}-{"noise" if noisy else "quiet"}'


def p99_us(runs: Sequence[samples.Floats]) -> samples.Estimate:
    """Returns the mean of the 99th percentiles of the runs."""
    return samples.estimate([
        float(np.percentile(run, 100 * measured.PERCENTILE)) for run in runs])


def table(cases: Cases, scale: int = 1) -> str:
    """Returns a table with the paper's percentiles and two isolation ratios.

    :param scale: the factor by which all times exceed the paper's times
    """
    header = ('Scheduler', 'Noise', 'Mean us', 'Median us', 'p99 us',
              f'Below {scale * GOOD_US} us', 'Paper: p99 us')
    p99 = {case: p99_us(runs).value for case, runs in cases.items()}
    noisy = p99['reservation', True]
    return report.table(header, _rows(cases, scale)) + (
        '\nReservation, p99 with noise over without: '
        f'{noisy / p99["reservation", False]:.3f}; with noise, p99 fair over '
        f'reservation: {p99["fair", True] / noisy:.1f}\n')


def _rows(cases: Cases, scale: int) -> Iterator[Sequence[object]]:
    for (scheduler, noisy), runs in cases.items():
        times, p99 = np.concatenate(runs), p99_us(runs)
        yield (scheduler, 'yes' if noisy else 'no', f'{times.mean():.0f}',
               f'{np.median(times):.0f}', f'{p99.value:.0f} +- {p99.half:.0f}',
               f'{100 * np.mean(times < scale * GOOD_US):.1f} %',
               scale * published.FIG8[scheduler, noisy])


def plot(cases: Cases, path: pathlib.Path) -> None:
    """Plots the empirical distribution functions."""
    drawn, (axes,) = report.subplots(1)
    for case, runs in cases.items():
        times = np.sort(np.concatenate(runs))
        axes.plot(report.milliseconds(times),
                  np.arange(1, len(times) + 1) / len(times),
                  label=name(*case))
    axes.set_xscale('log')
    axes.set_xlabel('response time in ms')
    axes.set_ylabel('part of all requests')
    axes.legend(fontsize='small')
    report.save(drawn, path)
