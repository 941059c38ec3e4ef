# SPDX-License-Identifier: Apache-2.0

"""Options, models and output that ``nova-rt plan`` and ``predict`` share."""

import argparse
from collections.abc import Sequence
import math
from typing import Any

from nova_rt.cli import formats
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import planner
from rt_models.model import simulated
from rt_operate.commands import answer as rt_answer
from rt_operate.commands import drawing
from rt_operate.commands import this_host

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
_EXACT, _PAPER = 'exact', 'paper'
_MODELS = {_EXACT: 'exact model', _PAPER: 'model of the paper'}
_SIMULATED = 'simulated'
_MS_PER_S = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options on the load, the network, the model and the output."""
    parser.add_argument(
        '--arrival-rate', type=float, required=True, metavar='HZ',
        help='requests a second to all vCPUs together, at random times')
    served = parser.add_mutually_exclusive_group(required=True)
    served.add_argument(
        '--service-rate', type=float, metavar='HZ',
        help='requests a second that a whole physical CPU serves')
    served.add_argument(
        '--cpu-ms', type=float, metavar='MS',
        help='the mean CPU time of a request, instead of --service-rate')
    parser.add_argument(
        '--vcpus', type=int, default=1, metavar='N',
        help='the number of vCPUs that share the requests evenly (default: '
             '%(default)s)')
    this_host.add_options(parser)
    parser.add_argument(
        '--network-delay-us', type=float, default=0.0, metavar='US',
        help='the delay of the network in one direction; it is counted twice '
             '(default: 0)')
    parser.add_argument(
        '--network-rate', type=float, default=math.inf, metavar='HZ',
        help='requests a second that the network carries, if requests queue '
             'for it (default: no limit)')
    parser.add_argument(
        '--overhead-us', type=float, default=0.0, metavar='US',
        help='the part of the runtime that is lost in each period (default: '
             '0)')
    parser.add_argument(
        '--model', choices=(_EXACT, _PAPER), default=_EXACT,
        help='exact: the server with its budget and period; paper: the '
             'equations of the paper (default: %(default)s)')
    formats.add_option(parser)
    parser.add_argument(
        '--plot', metavar='FILE',
        help='draw the distribution; the ending of the name chooses the '
             'format')


def network(args: argparse.Namespace) -> rt_load.Network:
    """Returns the network that the options describe.

    :raises InvalidLoad: when an option has a value that is not possible
    """
    return rt_load.Network(args.network_delay_us, args.network_rate)


def load(args: argparse.Namespace) -> rt_load.Load:
    """Returns the load of each vCPU.

    :raises InvalidLoad: when an option has a value that is not possible
    """
    rate = args.service_rate
    if rate is None:
        rt_load.check_positive('CPU time in ms', args.cpu_ms)
        rate = _MS_PER_S / args.cpu_ms
    return planner.split(rt_load.Load(args.arrival_rate, rate), args.vcpus)


def fluid(args: argparse.Namespace) -> bool:
    """Tells whether the equations of the paper are to be used."""
    return bool(args.model == _PAPER)


def answer(args: argparse.Namespace, kernel: rt_kernel.Kernel, note: str,
           reservation: rt_reservation.Reservation,
           percentiles: Sequence[float],
           beside: tuple[rt_reservation.Reservation, ...] = (),
           target: rt_load.Target | None = None,
           in_kernel: tuple[rt_reservation.Reservation, ...] = ()
           ) -> rt_answer.Answer:
    """Returns the response times of the reservation.

    :param note: a sentence on what could not be read from the kernel, or ''
    :param beside: reservations on the same pCPU that are always busy
    :param in_kernel: what the kernel gets instead of *reservation* and
        *beside*; () for the same
    :raises InvalidLoad: when requests arrive faster than they can be served,
        or an option has a value that is not possible
    """
    for one in percentiles:
        rt_load.check_percentile(one)
    vcpu_load, path = load(args), network(args)
    model, alone = _alone(args, vcpu_load, kernel, reservation)
    own, *others = in_kernel or (reservation, *beside)
    neighboured = simulated.predict(
        vcpu_load, own, path, args.overhead_us, kernel, others
    ) if beside else None
    return rt_answer.Answer(
        reservation, vcpu_load, args.vcpus, kernel, note, model, alone,
        contended.predict(vcpu_load, reservation, path, args.overhead_us,
                          kernel),
        neighboured, beside,
        tuple(sorted(set(percentiles) or PERCENTILES)), target, in_kernel)


def _alone(args: argparse.Namespace, vcpu_load: rt_load.Load,
           kernel: rt_kernel.Kernel, reservation: rt_reservation.Reservation
           ) -> tuple[str, rt_load.Prediction]:
    """Returns the name of a model and what it predicts for a lone server."""
    path = network(args)
    if fluid(args):
        paper.refuse_overhead(args.overhead_us)
        return _MODELS[_PAPER], paper.RoundTrip(vcpu_load, reservation, path)
    if kernel.at_ticks:
        return _SIMULATED, simulated.predict(
            vcpu_load, reservation, path, args.overhead_us, kernel)
    return _MODELS[_EXACT], exact.predict(vcpu_load, reservation, path,
                                          args.overhead_us)


def show(args: argparse.Namespace, given: rt_answer.Answer, after: str = '',
         **more: Any) -> None:
    """Prints the answer and, with ``--plot``, draws it.

    :param after: text that follows the answer
    :param more: further keys of the JSON object
    :raises CannotPlot: when matplotlib is not installed or the file cannot
        be written
    """
    if args.plot:
        drawing.draw(given, args.plot)
    formats.show(args, lambda: rt_answer.text(given) + after,
                 lambda: rt_answer.as_json(given, **more))
