# SPDX-License-Identifier: Apache-2.0

"""Draws the distribution of response times."""

from nova_rt.rules import exception
from rt_models.model import load as rt_load
from rt_operate.commands import answer

_POINTS = 400
#: The axis ends this factor beyond the last value that must be visible.
_ROOM = 1.1


def draw(given: answer.Answer, path: str) -> None:
    """Draws, for each time, the share of requests that take longer.

    :raises CannotPlot: when matplotlib is not installed or the file cannot
        be written
    """
    try:
        from matplotlib import figure
    except ImportError:
        raise exception.CannotPlot(
            path=path, reason='matplotlib is not installed; install '
            'nova-rt[plot]') from None
    last = _last_us(given)
    times = [last * number / _POINTS for number in range(_POINTS + 1)]
    drawing = figure.Figure(figsize=(7, 4.5), layout='constrained')
    axes = drawing.subplots()
    for (name, prediction), style in zip(given.columns.items(),
                                         ('-', '--', ':'), strict=False):
        axes.semilogy([time / 1000 for time in times],
                      [max(prediction.survival(time), _floor(given))
                       for time in times], style, label=name)
    for one in given.percentiles:
        axes.axhline(1 - one, color='0.85', linewidth=0.8, zorder=0)
        axes.annotate(answer.percent(one), (last / 1000, 1 - one),
                      ha='right', va='bottom', color='0.5')
    if given.target is not None:
        axes.axvline(given.target.time_us / 1000, color='tab:red',
                     linewidth=0.8, label=f'target: {_words(given.target)}')
    axes.set_ylim(_floor(given), 1.2)
    axes.set_xlabel('response time (ms)')
    axes.set_ylabel('share of requests that take longer')
    axes.set_title(f'{given.reservation}\n{given.load.arrival_rate_hz:g} '
                   f'requests a second, {given.kernel}', fontsize='medium')
    axes.legend()
    try:
        drawing.savefig(path)
    except (OSError, ValueError) as error:
        raise exception.CannotPlot(path=path, reason=error) from error


def _last_us(given: answer.Answer) -> float:
    """Returns the end of an axis that shows all columns and the target."""
    times = [prediction.percentile_us(given.percentiles[-1])
             for prediction in given.columns.values()]
    if given.target is not None:
        times.append(given.target.time_us)
    return _ROOM * max(times)


def _floor(given: answer.Answer) -> float:
    """Returns the smallest share of requests that is drawn."""
    return (1 - given.percentiles[-1]) / 2


def _words(target: rt_load.Target) -> str:
    measure = ('mean' if target.percentile is None
               else answer.percent(target.percentile))
    return f'{measure} of {target.time_us / 1000:g} ms'
