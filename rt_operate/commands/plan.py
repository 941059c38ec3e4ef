# SPDX-License-Identifier: Apache-2.0

"""``nova-rt plan``: finds a reservation for a target, or judges one."""

import argparse
from typing import Any

from nova_rt.rules import defaults
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_operate.commands import flavors
from rt_operate.commands import predict
from rt_operate.commands import response
from rt_operate.commands import this_host

_US_PER_MS = 1000


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``plan``."""
    parser = commands.add_parser(
        'plan', help='find the smallest reservation that meets a target',
        description='Finds the smallest reservation with which response '
                    'times meet a target, and prints a flavor that has it.  '
                    'With --runtime-us and --period-us, shows the response '
                    'times of that reservation.',
        epilog='Exit status: 0 done, 1 no reservation meets the target or '
               'a value is not valid, 3 wrong usage.')
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument('--mean-ms', type=float, metavar='MS',
                        help='the mean response time to meet')
    target.add_argument('--target-ms', type=float, metavar='MS',
                        help='the response time to meet, at the percentile '
                        'of --percentile')
    target.add_argument('--runtime-us', metavar='US',
                        help='no target: show the response times with this '
                             'runtime of each vCPU in each --period-us')
    predict.add_beside(parser)
    parser.add_argument(
        '--percentile', type=float, default=0.99, metavar='PART',
        help='the part of the requests that must meet --target-ms; this '
             'percentile is also printed with --mean-ms (default: '
             '%(default)s)')
    parser.add_argument(
        '--period-us', type=int, metavar='US',
        help='the period of the reservation (default: the period with which '
             'the reservation costs least)')
    parser.add_argument(
        '--max-share', type=float, default=defaults.MAX_SHARE, metavar='SHARE',
        help='the largest part of a pCPU that a vCPU may have (default: '
             '%(default)s)')
    parser.add_argument(
        '--alone', action='store_true',
        help='meet the target only where nothing else is reserved on the '
             'same pCPUs (default: meet it whatever else is reserved there)')
    parser.add_argument(
        '--ram', type=int, default=512, metavar='MB',
        help='the memory of the flavor (default: %(default)s)')
    response.add_options(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    if args.runtime_us is not None:
        if args.period_us is None:
            args.refuse('--runtime-us needs --period-us')
        return predict.show(args, (*response.PERCENTILES, args.percentile))
    if args.beside:
        args.refuse('--beside needs --runtime-us')
    kernel, note = this_host.kernel(args)
    target = _target(args)
    reservation = planner.plan(
        planner.Question(response.load(args), target, response.network(args),
                         args.max_share, args.overhead_us, kernel,
                         args.alone),
        args.period_us, response.fluid(args))
    answer = response.answer(args, kernel, note, reservation,
                             (*response.PERCENTILES, args.percentile),
                             target=target)
    flavor = flavors.reserved(reservation, args.vcpus, args.ram)
    response.show(args, answer, f'\n\n{flavor}', flavor=flavor)
    return 0


def _target(args: argparse.Namespace) -> rt_load.Target:
    if args.mean_ms is not None:
        return rt_load.Target(args.mean_ms * _US_PER_MS)
    return rt_load.Target(args.target_ms * _US_PER_MS, args.percentile)
