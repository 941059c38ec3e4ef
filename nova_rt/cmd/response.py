# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt plan`` and ``predict`` share: options, text, JSON, plot."""

import argparse
from collections.abc import Sequence
import dataclasses
import json
import math
from typing import Any

from nova_rt import exception
from nova_rt.model import contended
from nova_rt.model import exact
from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt import reservation as rt_reservation

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
_POINTS = 200
_EXACT, _PAPER = 'exact', 'paper'


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A reservation and the response times it gives.

    :param load: of each vCPU
    :param bound: what the prediction becomes at worst
    """

    reservation: rt_reservation.Reservation
    load: rt_load.Load
    model: str
    prediction: rt_load.Prediction
    bound: rt_load.Prediction
    percentiles: tuple[float, ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--arrival-rate', type=float, required=True, metavar='HZ',
        help='requests a second, at random times')
    parser.add_argument(
        '--service-rate', type=float, required=True, metavar='HZ',
        help='requests a second that a whole physical CPU serves')
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


def fluid(args: argparse.Namespace) -> bool:
    return bool(args.model == _PAPER)


def answer(args: argparse.Namespace, load: rt_load.Load,
           reservation: rt_reservation.Reservation,
           percentiles: Sequence[float]) -> Answer:
    """:raises InvalidLoad: unstable, or what was given makes no sense"""
    for one in percentiles:
        rt_load.check_percentile(one)
    way = network(args)
    prediction: rt_load.Prediction
    if fluid(args):
        paper.refuse_overhead(args.overhead_us)
        prediction = paper.RoundTrip(load, reservation, way)
    else:
        prediction = exact.predict(load, reservation, way, args.overhead_us)
    return Answer(
        reservation, load, args.model, prediction,
        contended.RoundTrip(load, reservation, way, args.overhead_us),
        tuple(sorted(set(percentiles) or PERCENTILES)))


def text(given: Answer) -> str:
    reservation, load = given.reservation, given.load
    used = load.arrival_rate_hz / (load.service_rate_hz * reservation.share)
    lines = [
        f'Reservation: {reservation}; the requests use {used:.1%} of it.', '',
        f'Response time in ms ({given.model} model)',
        f'{"":8}{"alone on its CPU":>18}{"at most, with others":>22}',
        _line('mean', given.prediction.mean_us, given.bound.mean_us)]
    lines += [_line(f'p{100 * one:.10g}', given.prediction.percentile_us(one),
                    given.bound.percentile_us(one))
              for one in given.percentiles]
    return '\n'.join(lines)


def _line(name: str, time_us: float, bound_us: float) -> str:
    return f'{name:8}{time_us / 1000:18.3f}{bound_us / 1000:22.3f}'


def as_json(given: Answer, **more: Any) -> str:
    reservation = given.reservation
    return json.dumps({
        'runtime_us': reservation.runtime_us,
        'period_us': reservation.period_us,
        'share': round(reservation.share, 6), 'model': given.model,
        **_times(given.prediction, given.percentiles),
        'bound': _times(given.bound, given.percentiles), **more}, indent=2)


def _times(prediction: rt_load.Prediction, percentiles: Sequence[float]
           ) -> dict[str, Any]:
    return {'mean_ms': round(prediction.mean_us / 1000, 6),
            'percentiles': {
                f'{one:.10g}': round(prediction.percentile_us(one) / 1000, 6)
                for one in percentiles}}


def plot(given: Answer, path: str) -> None:
    """Draw how likely it is that a request takes longer.

    :raises CannotPlot: no matplotlib, or the file cannot be written
    """
    try:
        from matplotlib import figure
    except ImportError:
        raise exception.CannotPlot(
            path=path, reason='matplotlib is not installed; install '
            'nova-rt[plot]') from None
    last = 1.2 * given.prediction.percentile_us(given.percentiles[-1])
    times = [last * number / _POINTS for number in range(_POINTS + 1)]
    drawing = figure.Figure(figsize=(7, 4.5), layout='constrained')
    axes = drawing.subplots()
    axes.semilogy([time / 1000 for time in times],
                  [given.prediction.survival(time) for time in times],
                  label=f'{given.model} model, alone on its CPU')
    axes.semilogy([time / 1000 for time in times],
                  [given.bound.survival(time) for time in times], '--',
                  label='at most, with others')
    for one in given.percentiles:
        axes.axhline(1 - one, color='0.85', linewidth=0.8, zorder=0)
    axes.set_xlabel('response time (ms)')
    axes.set_ylabel('share of requests that take longer')
    axes.set_title(str(given.reservation))
    axes.legend()
    try:
        drawing.savefig(path)
    except (OSError, ValueError) as error:
        raise exception.CannotPlot(path=path, reason=error) from error


def show(args: argparse.Namespace, given: Answer, after: str = '',
         **more: Any) -> None:
    """:raises CannotPlot: --plot, and no matplotlib or no such file"""
    if args.plot:
        plot(given, args.plot)
    if args.format == 'json':
        print(as_json(given, **more))
    else:
        print(text(given) + after)
