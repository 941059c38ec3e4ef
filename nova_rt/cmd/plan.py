# SPDX-License-Identifier: Apache-2.0

"""``nova-rt plan``: from a target to a reservation and its flavor."""

import argparse
import shlex
from typing import Any

from nova_rt.cmd import response
from nova_rt.model import load as rt_load
from nova_rt.model import planner
from nova_rt import reservation as rt_reservation

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
        '--max-share', type=float, default=1.0, metavar='SHARE',
        help='the largest part of a pCPU a vCPU may have')
    parser.add_argument(
        '--vcpus', type=int, default=1, metavar='N',
        help='the requests are spread over (default: %(default)s)')
    response.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    load = planner.split(
        rt_load.Load(args.arrival_rate, args.service_rate), args.vcpus)
    reservation = planner.plan(
        planner.Question(load, _target(args), response.network(args),
                         args.max_share, args.overhead_us),
        args.period_us, response.fluid(args))
    given = response.answer(args, load, reservation,
                            (*response.PERCENTILES, args.percentile))
    flavor = _flavor_command(reservation, args.vcpus)
    response.show(args, given, f'\n\n{flavor}', vcpus=args.vcpus,
                  flavor=flavor)
    return 0


def _target(args: argparse.Namespace) -> rt_load.Target:
    if args.mean_ms is not None:
        return rt_load.Target(args.mean_ms * _US_PER_MS)
    return rt_load.Target(args.target_ms * _US_PER_MS, args.percentile)


def _flavor_command(reservation: rt_reservation.Reservation, vcpus: int
                    ) -> str:
    """As in section 5 of the paper; memory is for others to say."""
    prefix = rt_reservation.FLAVOR_PREFIX
    return shlex.join((
        'openstack', 'flavor', 'create',
        f'rt-{reservation.runtime_us}-{reservation.period_us}',
        '--vcpus', str(vcpus), '--ram', '512',
        '--property',
        f'{prefix}{rt_reservation.RUNTIME_KEY}={reservation.runtime_us}',
        '--property',
        f'{prefix}{rt_reservation.PERIOD_KEY}={reservation.period_us}'))
