# SPDX-License-Identifier: Apache-2.0

"""``nova-rt plan``: from a target to a reservation and its flavor."""

import argparse
from typing import Any

from nova_rt.operate.commands import flavors
from nova_rt.operate.commands import response
from nova_rt.operate.commands import this_host
from nova_rt.rules import defaults
from rt_models.model import load as rt_load
from rt_models.model import planner

_US_PER_MS = 1000


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'plan', help='the smallest reservation that meets a target',
        description='The smallest reservation with which response times '
                    'meet a target, and the flavor that has it.',
        epilog='Exit status: 0 done, 1 no answer, 3 wrong usage.')
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument('--mean-ms', type=float, metavar='MS',
                        help='the mean to meet')
    target.add_argument('--target-ms', type=float, metavar='MS',
                        help='the percentile to meet')
    parser.add_argument(
        '--percentile', type=float, default=0.99, metavar='PART',
        help='which one that is; shown in any case (default: %(default)s)')
    parser.add_argument(
        '--period-us', type=int, metavar='US',
        help='(default: the one that costs least)')
    parser.add_argument(
        '--max-share', type=float, default=defaults.MAX_SHARE, metavar='SHARE',
        help='the largest part of a pCPU a vCPU may have (default: '
             '%(default)s)')
    parser.add_argument(
        '--alone', action='store_true',
        help='meet the target where nothing else is reserved on its pCPUs, '
             'in place of whatever else is')
    parser.add_argument(
        '--ram', type=int, default=512, metavar='MB',
        help='memory of the flavor (default: %(default)s)')
    response.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kernel, note = this_host.kernel(args)
    target = _target(args)
    reservation = planner.plan(
        planner.Question(response.load(args), target, response.network(args),
                         args.max_share, args.overhead_us, kernel,
                         args.alone),
        args.period_us, response.fluid(args))
    given = response.answer(args, kernel, note, reservation,
                            (*response.PERCENTILES, args.percentile),
                            target=target)
    flavor = flavors.reserved(reservation, args.vcpus, args.ram)
    response.show(args, given, f'\n\n{flavor}', flavor=flavor)
    return 0


def _target(args: argparse.Namespace) -> rt_load.Target:
    if args.mean_ms is not None:
        return rt_load.Target(args.mean_ms * _US_PER_MS)
    return rt_load.Target(args.target_ms * _US_PER_MS, args.percentile)
