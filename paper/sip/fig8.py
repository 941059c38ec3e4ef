# SPDX-License-Identifier: Apache-2.0

"""Fig. 8: Kamailio and MariaDB serve the registrations of SIPp.

The neighbour is rt-app with a reservation of its own.  The periods of server
and neighbour are longer than the paper's, so that kernels that charge budgets
at ticks keep them.  Under the fair scheduler both are ordinary tasks, in one
group with so great a weight that the other work of the machine hardly counts.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import datetime
import pathlib

import numpy as np

from paper import conditions
from paper.fig8 import campaign
from paper.fig8 import pairs
from paper.fig8 import places
from paper.fig8 import records
from paper.fig8 import table
from paper import group
from paper import measure
from paper import records as paper_records
from paper import rtapp
from paper import scheduling
from paper.sip import client as sip_client
from paper.sip import registrar

_DATA = pathlib.Path(__file__).parents[1] / 'build' / 'fig8-sip'
#: The paper's registrations every INTERVAL_MS, and the CPU that these need.
PAPER_RATE = 257
_US_PER_MS = 1000
_PAIR = 'slow'
PAIR = pairs.PAIRS[_PAIR]
Enter = places.Enter


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    campaign.register_runs(parser, _DATA / 'fig8-sip.csv')
    parser.add_argument('--load', type=float, default=pairs.LOAD,
                        metavar='CPU', help='the part of a CPU that the '
                        'registrations need, unless the pace of the paper '
                        'needs less (%(default)s, as in the paper); on a busy '
                        'machine a registration may cost half as much again')


def run(options: argparse.Namespace) -> str:
    """Measures what the options say; returns the table of the file."""
    options.data.parent.mkdir(parents=True, exist_ok=True)
    if options.runs > 0:
        _measure(options)
    runs = records.read(options.data)
    if runs:
        table.plot(runs, options.data.with_suffix('.png'))
    return table.text(runs)


def _measure(options: argparse.Namespace) -> None:
    count = measure.SHORT.requests if options.short else options.requests
    offered = places.Groups().check(PAIR.server, PAIR.noise)
    rate = calibrate(count, options.load)
    print(f'{rate} registrations every {sip_client.INTERVAL_MS} ms; the '
          f'paper has {PAPER_RATE}.', flush=True)
    for scheduler in options.scheduler:
        with contextlib.ExitStack() as stack:
            serving = stack.enter_context(_serving(scheduler))
            # The first registrations after the start cost more.
            sip_client.register(count, rate, _client())
            for number in range(1 if options.short else options.runs):
                for noise in _order(number):
                    case = _Case(scheduler, noise, number, offered, count,
                                 rate)
                    records.add(options.data, case.run(
                        options.kernel, serving))


def _order(number: int) -> Sequence[str]:
    """Returns the cases of a run, alternately in this and the other order.

    So a slow change of the machine does not favour one of the cases.
    """
    order = (pairs.NOBODY, pairs.PERIODIC)
    return order[::-1] if number % 2 else order


@dataclasses.dataclass(frozen=True, slots=True)
class _Server:
    """A server that runs.

    :ivar processes: its processes
    :ivar enter: puts other processes beside the server
    """

    processes: Sequence[int]
    enter: Enter


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    """One run of one case.

    :ivar offered: the ppm of a pCPU that this kernel offers
    :ivar count: the number of registrations; a tenth of them does not count
    :ivar rate: registrations every INTERVAL_MS
    """

    scheduler: str
    noise: str
    number: int
    offered: int
    count: int
    rate: int

    def run(self, kernel: str, server: _Server) -> records.Run:
        """Measures; returns the line of the data."""
        with conditions.recorded() as around, contextlib.ExitStack() as stack:
            if self.noise != pairs.NOBODY:
                stack.enter_context(self._neighbour(server.enter))
            before = registrar.busy_us(server.processes)
            times = sip_client.register(self.count, self.rate, _client())[
                self.count // 10:]
            used_us = registrar.busy_us(server.processes) - before
        print(f'{self.scheduler} {self.noise}: p99 '
              f'{np.percentile(times, 99):.0f} us', flush=True)
        return records.Run(
            kernel, places.Groups.name, _PAIR, self.scheduler, self.noise,
            self.number,
            f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%MZ}',
            self.offered, len(times),
            sip_client.INTERVAL_MS * _US_PER_MS / self.rate,
            used_us / self.count,
            around.load_average, around.steal,
            float(np.mean(times < pairs.GOOD_US)),
            paper_records.Summary.from_times(times))

    @contextlib.contextmanager
    def _neighbour(self, confine: Enter) -> Iterator[None]:
        cpu, tasks = scheduling.SERVER_CPU, PAIR.tasks(self.noise)
        with contextlib.ExitStack() as stack:
            if self.scheduler == pairs.RESERVED:
                confine = stack.enter_context(group.reserved(
                    PAIR.noise, cpu, group.NEIGHBOUR, group.LOWER))
            confine(stack.enter_context(rtapp.running(tasks, cpu)))
            yield


@contextlib.contextmanager
def _serving(scheduler: str) -> Iterator[_Server]:
    """Runs the server in its place."""
    cpu = scheduling.SERVER_CPU
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context(
            group.reserved(PAIR.server, cpu)
            if scheduler == pairs.RESERVED else group.heavy())
        processes = stack.enter_context(registrar.running(cpu))
        for process in processes:
            enter(process)
        yield _Server(processes, enter)


def calibrate(count: int, load: float) -> int:
    """Returns how many registrations every INTERVAL_MS need *load*.

    The answer is at most the pace of the paper.  The trial runs twice, because
    a registration needs less CPU time if there are more registrations at a
    time.

    :param count: the number of registrations of a trial
    :param load: a part of a CPU
    """
    rate = PAPER_RATE // 2
    with (group.heavy() as enter,
          registrar.running(scheduling.SERVER_CPU) as processes):
        for process in processes:
            enter(process)
        for _ in range(2):
            before = registrar.busy_us(processes)
            sip_client.register(count, rate, _client())
            cost = (registrar.busy_us(processes) - before) / count
            rate = min(PAPER_RATE, round(
                load * sip_client.INTERVAL_MS * _US_PER_MS / cost))
    return rate


def _client() -> Sequence[str]:
    return *scheduling.BESIDE, str(scheduling.CLIENT_CPU)
