# SPDX-License-Identifier: Apache-2.0

"""``nova-rt predict``: from a reservation to response times."""

import argparse
from typing import Any

from nova_rt.operate.commands import response
from nova_rt.operate.commands import this_host
from nova_rt.rules import reservation as rt_reservation

_SOURCE, _NEIGHBOUR = 'value of', 'neighbour with'


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'predict', help='response times that a reservation gives',
        description='Response times of requests at vCPUs with a '
                    'reservation.',
        epilog='Exit status: 0 done, 1 no answer, 3 wrong usage.')
    parser.add_argument('--runtime-us', required=True, metavar='US')
    parser.add_argument('--period-us', required=True, metavar='US')
    parser.add_argument(
        '--beside', action='append', default=[], metavar='Q/P',
        help='another reservation on the same pCPU, in us, that is always '
             'busy; may be repeated')
    parser.add_argument(
        '--percentile', type=float, action='append', default=[],
        metavar='PART', help='to show, as 0.99; may be repeated')
    response.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kernel, note = this_host.kernel(args)
    response.show(args, response.answer(
        args, kernel, note,
        _reservation(_SOURCE, args.runtime_us, args.period_us),
        args.percentile,
        tuple(_reservation(_NEIGHBOUR, *_parts(one))
              for one in args.beside)))
    return 0


def _parts(text: str) -> tuple[str, str]:
    runtime, _, period = text.partition('/')
    return runtime, period


def _reservation(source: str, runtime_us: str, period_us: str
                 ) -> rt_reservation.Reservation:
    """:raises InvalidReservation: the kernels know no such one"""
    return rt_reservation.combine(
        source,
        rt_reservation.parse(source, rt_reservation.RUNTIME_KEY, runtime_us),
        rt_reservation.parse(source, rt_reservation.PERIOD_KEY, period_us))
