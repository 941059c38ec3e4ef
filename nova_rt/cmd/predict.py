# SPDX-License-Identifier: Apache-2.0

"""``nova-rt predict``: from a reservation to response times."""

import argparse
from typing import Any

from nova_rt.cmd import response
from nova_rt.model import load as rt_load
from nova_rt import reservation as rt_reservation

_SOURCE = 'value of'


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'predict', help='response times that a reservation gives',
        description='Response times of requests at one vCPU with a '
                    'reservation.',
        epilog='Exit status: 0 done, 1 no answer, 3 wrong usage.')
    parser.add_argument('--runtime-us', required=True, metavar='US')
    parser.add_argument('--period-us', required=True, metavar='US')
    parser.add_argument(
        '--percentile', type=float, action='append', default=[],
        metavar='PART', help='to show, as 0.99; may be repeated')
    response.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    load = rt_load.Load(args.arrival_rate, args.service_rate)
    reservation = rt_reservation.combine(
        _SOURCE,
        rt_reservation.parse(_SOURCE, rt_reservation.RUNTIME_KEY,
                             args.runtime_us),
        rt_reservation.parse(_SOURCE, rt_reservation.PERIOD_KEY,
                             args.period_us))
    response.show(args, response.answer(args, load, reservation,
                                        args.percentile))
    return 0
