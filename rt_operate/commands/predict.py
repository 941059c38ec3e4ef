# SPDX-License-Identifier: Apache-2.0

"""``nova-rt predict``: predicts the response times of a reservation.

``nova-rt plan --runtime-us`` does the same.  The name ``predict`` stays for a
release.
"""

import argparse
from collections.abc import Sequence
import dataclasses
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
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
    parser.add_argument(
        '--min-divided-us', type=int, metavar='US',
        default=defaults.MIN_DIVIDED_RUNTIME_US,
        help='with --beside, [nova_rt] min_divided_runtime_us of the host: '
             'rt_group_sched may get shorter runtimes and periods, see '
             'in_kernel (default: %(default)s)')


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    return show(args, args.percentile)


def show(args: argparse.Namespace, percentiles: Sequence[float]) -> int:
    """Prints the response times of the reservation of the options.

    :raises InvalidReservation: when no kernel takes the reservation
    """
    kernel, note = this_host.kernel(args)
    wanted = _reservation(_SOURCE, args.runtime_us, args.period_us)
    beside = tuple(_reservation(_NEIGHBOUR, *_parts(one))
                   for one in args.beside)
    response.show(args, response.answer(
        args, kernel, note, wanted, percentiles, beside,
        in_kernel=_divided(kernel, args.min_divided_us, wanted, beside)))
    return 0


def _divided(kernel: rt_kernel.Kernel, least_us: int,
             wanted: rt_reservation.Reservation,
             beside: tuple[rt_reservation.Reservation, ...]
             ) -> tuple[rt_reservation.Reservation, ...]:
    """Returns what the kernel gets for *wanted* and for its neighbours.

    :returns: () if nothing is divided
    :raises InvalidReservation: when the servers do not fit on one pCPU
    """
    if (not beside or not least_us
            or kernel.rule is not rt_kernel.Rule.RT_GROUP_SCHED):
        return ()
    state = dataclasses.replace(cpus.CpuBandwidth.empty(
        (0,), round(defaults.CPU_CAP * rt_reservation.PPM), True,
        kernel.fixed_priorities), min_divided_us=least_us)
    parts = cpus.in_kernel(state, (*beside, wanted), policies.first_fit)
    if parts is None:
        raise exception.InvalidReservation(
            source=_SOURCE, key='--beside',
            value=', '.join(map(str, (wanted, *beside))),
            rule='the kernel cannot give all of them their runtime on one '
                 'pCPU', advice='reserve less, or give longer periods')
    *others, own = parts
    return own, *others


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
