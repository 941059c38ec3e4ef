# SPDX-License-Identifier: Apache-2.0

"""The distribution of response times, drawn."""

from nova_rt.operate.commands import answer
from nova_rt.rules import exception
from rt_models.model import load as rt_load

_POINTS = 400
#: Beyond what is to be seen on the right.
_ROOM = 1.1


def draw(given: answer.Answer, path: str) -> None:
    """Draw how likely it is that a request takes longer.

    :raises CannotPlot: no matplotlib, or the file cannot be written
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
    """Returns the end of the axis: all columns and the target are seen."""
    seen = [prediction.percentile_us(given.percentiles[-1])
            for prediction in given.columns.values()]
    if given.target is not None:
        seen.append(given.target.time_us)
    return _ROOM * max(seen)


def _floor(given: answer.Answer) -> float:
    """The least share of requests that is drawn."""
    return (1 - given.percentiles[-1]) / 2


def _words(target: rt_load.Target) -> str:
    what = ('mean' if target.percentile is None
            else answer.percent(target.percentile))
    return f'{what} of {target.time_us / 1000:g} ms'
