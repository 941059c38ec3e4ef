# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt plan`` and ``predict`` share: options, models, output."""

import argparse
from collections.abc import Sequence
import math
from typing import Any

from nova_rt.operate.commands import answer as rt_answer
from nova_rt.operate.commands import drawing
from nova_rt.operate.commands import this_host
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import planner
from rt_models.model import simulated

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
_EXACT, _PAPER = 'exact', 'paper'
_MODELS = {_EXACT: 'exact model', _PAPER: 'model of the paper'}
_SIMULATED = 'simulated'
_MS_PER_S = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--arrival-rate', type=float, required=True, metavar='HZ',
        help='requests a second to all vCPUs, at random times')
    served = parser.add_mutually_exclusive_group(required=True)
    served.add_argument(
        '--service-rate', type=float, metavar='HZ',
        help='requests a second that a whole physical CPU serves')
    served.add_argument(
        '--cpu-ms', type=float, metavar='MS',
        help='the mean CPU time of a request, in place of that')
    parser.add_argument(
        '--vcpus', type=int, default=1, metavar='N',
        help='the requests are spread over (default: %(default)s)')
    this_host.add_options(parser)
    parser.add_argument(
        '--network-delay-us', type=float, default=0.0, metavar='US',
        help='one way; it is counted twice')
    parser.add_argument(
        '--network-rate', type=float, default=math.inf, metavar='HZ',
        help='requests a second that the network passes on, where they '
             'queue for it')
    parser.add_argument(
        '--overhead-us', type=float, default=0.0, metavar='US',
        help='what each period loses of the runtime')
    parser.add_argument(
        '--model', choices=(_EXACT, _PAPER), default=_EXACT,
        help='the server with its budget and period, or the equations of '
             'the paper (default: %(default)s)')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text', help='(default: %(default)s)')
    parser.add_argument(
        '--plot', metavar='FILE',
        help='draw the distribution; the name says in which format')


def network(args: argparse.Namespace) -> rt_load.Network:
    """:raises InvalidLoad: what was given makes no sense"""
    return rt_load.Network(args.network_delay_us, args.network_rate)


def load(args: argparse.Namespace) -> rt_load.Load:
    """That of each vCPU.

    :raises InvalidLoad: what was given makes no sense
    """
    rate = args.service_rate
    if rate is None:
        rt_load.check_positive('CPU time in ms', args.cpu_ms)
        rate = _MS_PER_S / args.cpu_ms
    return planner.split(rt_load.Load(args.arrival_rate, rate), args.vcpus)


def fluid(args: argparse.Namespace) -> bool:
    return bool(args.model == _PAPER)


def answer(args: argparse.Namespace, kernel: rt_kernel.Kernel, note: str,
           reservation: rt_reservation.Reservation,
           percentiles: Sequence[float],
           beside: tuple[rt_reservation.Reservation, ...] = (),
           target: rt_load.Target | None = None) -> rt_answer.Answer:
    """:raises InvalidLoad: unstable, or what was given makes no sense"""
    for one in percentiles:
        rt_load.check_percentile(one)
    asked, way = load(args), network(args)
    model, alone = _alone(args, asked, kernel, reservation)
    neighboured = simulated.predict(
        asked, reservation, way, args.overhead_us, kernel, beside
    ) if beside else None
    return rt_answer.Answer(
        reservation, asked, args.vcpus, kernel, note, model, alone,
        contended.predict(asked, reservation, way, args.overhead_us, kernel),
        neighboured, beside,
        tuple(sorted(set(percentiles) or PERCENTILES)), target)


def _alone(args: argparse.Namespace, asked: rt_load.Load,
           kernel: rt_kernel.Kernel, reservation: rt_reservation.Reservation
           ) -> tuple[str, rt_load.Prediction]:
    """What is known of a lone server, and by what."""
    way = network(args)
    if fluid(args):
        paper.refuse_overhead(args.overhead_us)
        return _MODELS[_PAPER], paper.RoundTrip(asked, reservation, way)
    if kernel.at_ticks:
        return _SIMULATED, simulated.predict(
            asked, reservation, way, args.overhead_us, kernel)
    return _MODELS[_EXACT], exact.predict(asked, reservation, way,
                                          args.overhead_us)


def show(args: argparse.Namespace, given: rt_answer.Answer, after: str = '',
         **more: Any) -> None:
    """:raises CannotPlot: --plot, and no matplotlib or no such file"""
    if args.plot:
        drawing.draw(given, args.plot)
    if args.format == 'json':
        print(rt_answer.as_json(given, **more))
    else:
        print(rt_answer.text(given) + after)
