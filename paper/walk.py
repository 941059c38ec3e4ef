# SPDX-License-Identifier: Apache-2.0

"""Sends requests to one server by hand: ``run.sh walk``."""

import argparse
import pathlib

import numpy as np

from paper import report
from paper import rtwalk
from paper import samples
from paper import workload as rt_workload

PERCENTILES = (50, 90, 99, 99.9, 100)


def distribution(text: str) -> rt_workload.Distribution:
    """Reads ``exp:MEAN`` or ``fixed:VALUE``.

    :raises argparse.ArgumentTypeError: when the text has neither form
    """
    kind, _, number = text.partition(':')
    try:
        mean = float(number)
    except ValueError:
        mean = -1.0
    if kind not in ('exp', 'fixed') or not 0 <= mean < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text!r} is neither exp:MEAN nor fixed:VALUE')
    return rt_workload.Distribution(mean, kind == 'fixed')


def positive(text: str) -> int:
    """Reads a whole number of at least 1.

    :raises argparse.ArgumentTypeError: when the text is not such a number
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not 1 or more')
    return int(text)


def seconds(text: str) -> float:
    """Reads a finite time of 0 or more seconds.

    :raises argparse.ArgumentTypeError: when the text is not such a time
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not 0 or more seconds')
    return value


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument('address', help='where "rt-walk server" listens')
    parser.add_argument('port', type=int)
    for name, default, unit in (
            ('intervals', 'exp:1000', 'us between requests'),
            ('service', 'exp:300', 'us of CPU time of a request'),
            ('size', 'fixed:128', 'bytes of each')):
        parser.add_argument(
            f'--{name}', type=distribution, default=default,
            metavar='exp:MEAN|fixed:VALUE', help=f'{unit} (%(default)s)')
    parser.add_argument('--clients', type=positive, default=1,
                        help='connections (%(default)s)')
    parser.add_argument('--transport', choices=('udp', 'tcp'), default='udp')
    parser.add_argument('--requests', type=positive, default=10_000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--csv', type=pathlib.Path, metavar='FILE',
                        help='write a line of CSV for each request')


def run(options: argparse.Namespace) -> str:
    """Sends the requests; returns a table.

    :raises subprocess.CalledProcessError: when the client fails; the client
        says why
    """
    rtwalk.build()
    answers = rtwalk.ask(
        rtwalk.Endpoint(options.address, options.port),
        rt_workload.Workload(options.intervals, options.service, options.size,
                             options.clients, options.transport),
        options.requests, options.seed, ())
    if options.csv:
        answers.write(options.csv)
    return summary(answers)


def summary(found: samples.Samples) -> str:
    """Returns a table of the mean and percentiles, in us."""
    responses = found.responses_us()
    return report.table(
        ('Requests', 'Lost', 'Mean us', *(f'p{one:g}' for one in PERCENTILES)
         ),
        [(len(responses) + found.lost, found.lost, f'{responses.mean():.1f}',
          *(f'{value:.1f}' for value in np.percentile(
              responses, PERCENTILES)))])
