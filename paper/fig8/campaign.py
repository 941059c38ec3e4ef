# SPDX-License-Identifier: Apache-2.0

"""Fig. 8: a server beside a noisy neighbour, both reserved or both ordinary.

The server and the neighbour are on one pCPU.  The server makes the requests
itself, by its own clock.  So the experiment needs no client, and a machine
with one CPU and a deterministic clock (``tools/lab.sh --icount``) is enough.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import platform

import numpy as np

from paper import conditions
from paper.fig8 import pairs
from paper.fig8 import places
from paper.fig8 import records
from paper.fig8 import table
from paper import measure
from paper import records as paper_records
from paper import rtwalk
from paper import samples

_HERE = pathlib.Path(__file__).parents[1]
_DATA = _HERE / 'build' / 'fig8' / 'fig8.csv'
#: Runs of each case, and requests of a run at the paper's scale.
RUNS, REQUESTS = 5, 10_000


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument('--place', choices=places.PLACES, default='deadline',
                        help='hold each reservation by a SCHED_DEADLINE '
                        'thread, as for virtual machines (default), by a '
                        'control group, as for containers, or by a control '
                        'group with what nova-compute divides for the kernel')
    parser.add_argument('--pair', nargs='+', choices=pairs.PAIRS,
                        default=['paper'], help='the reservations of server '
                        'and neighbour: the paper\'s (default) or others')
    register_runs(parser, _DATA)


def register_runs(parser: argparse.ArgumentParser, data: pathlib.Path
                  ) -> None:
    """Adds the options about runs and their file, by default *data*."""
    parser.add_argument('--scheduler', nargs='+', metavar='NAME',
                        choices=(pairs.FAIR, pairs.RESERVED),
                        default=[pairs.FAIR, pairs.RESERVED],
                        help='only with the fair scheduler, or only with '
                        'reservations (default: both)')
    parser.add_argument('--data', type=pathlib.Path, default=data,
                        metavar='FILE', help='the CSV file of runs, for old '
                        'and new runs (%(default)s)')
    parser.add_argument('--kernel', default=f'Linux {platform.release()}',
                        metavar='TEXT', help='the name of this kernel in the '
                        'table (%(default)s)')
    parser.add_argument('--runs', type=int, default=RUNS, metavar='N',
                        help='runs of each case (%(default)s; 0: no run, '
                        'only the table)')
    parser.add_argument('--requests', type=int, default=REQUESTS, metavar='N',
                        help='requests of each run at the paper\'s scale '
                        '(%(default)s)')
    parser.add_argument('--short', action='store_true',
                        help='only check that the experiment works; there are '
                             'too few runs for statistics')


def run(options: argparse.Namespace) -> str:
    """Measures the cases of the options; returns the table of the file."""
    options.data.parent.mkdir(parents=True, exist_ok=True)
    if options.runs > 0:
        rtwalk.build()
        for pair in options.pair:
            _measure(options, pair)
    runs = records.read(options.data)
    if runs:
        table.plot(runs, options.data.with_suffix('.png'))
    return table.text(runs)


def _measure(options: argparse.Namespace, name: str) -> None:
    pair, place = pairs.PAIRS[name], places.PLACES[options.place]()
    offered = place.check(pair.server, pair.noise)
    count = pair.requests(measure.SHORT.requests if options.short
                          else options.requests)
    # One run of each case after the other, so that a disturbance of some
    # minutes does not affect all runs of a case.
    for number in range(min(options.runs, 1) if options.short
                        else options.runs):
        for scheduler, noise in pairs.cases(options.scheduler):
            with conditions.recorded() as around:
                found = _case(pair, place, scheduler, noise, count, number)
            times = found.responses_us(count // 10)
            records.add(options.data, records.Run(
                options.kernel, place.name, name, scheduler, noise, number,
                f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%MZ}',
                offered, len(times), pair.workload.intervals.mean,
                found.cpu_us(), os.getloadavg()[0],
                around.steal, float(np.mean(times < pair.good_us)),
                paper_records.Summary.from_times(times)))
            print(f'{name} {scheduler} {noise}: p99 '
                  f'{np.percentile(times, 99):.0f} us', flush=True)


def _case(pair: pairs.Pair, place: places.Place, scheduler: str, noise: str,
          count: int, seed: int) -> samples.Samples:
    tasks, fair = pair.tasks(noise), places.Fair()
    with contextlib.ExitStack() as stack:
        if scheduler == pairs.FAIR:
            if tasks:
                stack.enter_context(fair.noise(tasks))
            enter = stack.enter_context(fair.server())
        else:
            if tasks:
                stack.enter_context(place.noise(pair.noise, tasks))
            enter = stack.enter_context(place.server(pair.server))
        return rtwalk.paced(pair.workload, count, seed, enter)
