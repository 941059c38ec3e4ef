# SPDX-License-Identifier: Apache-2.0

"""``nova-rt predict``: predicts the response times of a reservation.

``nova-rt plan --runtime-us`` does the same.  The name ``predict`` stays for a
release.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from nova_rt.rules import reservation as rt_reservation
from rt_operate.commands import response
from rt_operate.commands import this_host

_SOURCE, _NEIGHBOUR = 'value of', 'neighbour with'


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``predict``."""
    parser = commands.add_parser(
        'predict', help='the older name of plan --runtime-us',
        description='Predicts the response times of requests to vCPUs with '
                    'a reservation.  "nova-rt plan --runtime-us" does the '
                    'same; a later release will not have "predict".',
        epilog='Exit status: 0 done, 1 the reservation cannot serve the '
               'requests or a value is not valid, 3 wrong usage.')
    parser.add_argument('--runtime-us', required=True, metavar='US',
                        help='the runtime of each vCPU')
    parser.add_argument('--period-us', required=True, metavar='US',
                        help='the period of each vCPU')
    add_beside(parser)
    parser.add_argument(
        '--percentile', type=float, action='append', default=[],
        metavar='PART', help='a percentile to show, such as 0.99; may be '
        'repeated')
    response.add_options(parser)
    parser.set_defaults(run=run)


def add_beside(parser: argparse.ArgumentParser) -> None:
    """Adds the option ``--beside``."""
    parser.add_argument(
        '--beside', action='append', default=[], metavar='Q/P',
        help='another reservation on the same pCPU (runtime/period in us) '
             'that is always busy; may be repeated')


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    return show(args, args.percentile)


def show(args: argparse.Namespace, percentiles: Sequence[float]) -> int:
    """Prints the response times of the reservation of the options.

    :raises InvalidReservation: when no kernel takes the reservation
    """
    kernel, note = this_host.kernel(args)
    response.show(args, response.answer(
        args, kernel, note,
        _reservation(_SOURCE, args.runtime_us, args.period_us),
        percentiles,
        tuple(_reservation(_NEIGHBOUR, *_parts(one))
              for one in args.beside)))
    return 0


def _parts(text: str) -> tuple[str, str]:
    runtime, _, period = text.partition('/')
    return runtime, period


def _reservation(source: str, runtime_us: str, period_us: str
                 ) -> rt_reservation.Reservation:
    """Returns the reservation of a runtime and a period.

    :raises InvalidReservation: when no kernel takes these values
    """
    return rt_reservation.combine(
        source,
        rt_reservation.parse(source, rt_reservation.RUNTIME_KEY, runtime_us),
        rt_reservation.parse(source, rt_reservation.PERIOD_KEY, period_us))
