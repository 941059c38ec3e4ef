# SPDX-License-Identifier: Apache-2.0

"""Shows the response times of a reservation as text and as JSON."""

import dataclasses
import decimal
import json
from typing import Any

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load

ALONE = 'alone on its CPU'
#: The names of columns in JSON; the column of a lone server has no name.
BOUND, BESIDE = 'bound', 'beside'
_WIDTH = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A reservation and the response times that it gives.

    :ivar load: the load of each vCPU
    :ivar model: the name of the model that gave the times of a lone server
    :ivar alone: the response times of a server that is alone on its CPU
    :ivar bound: the longest response times, whatever else runs on the CPU
    :ivar beside: the response times beside *neighbours*; None when there
        are no neighbours
    :ivar in_kernel: what the kernel gets for the server and for each of
        *neighbours*; () if nothing is divided
    :ivar note: a sentence on what could not be read from the kernel, or ''
    """

    reservation: rt_reservation.Reservation
    load: rt_load.Load
    vcpus: int
    kernel: rt_kernel.Kernel
    note: str
    model: str
    alone: rt_load.Prediction
    bound: rt_load.Prediction
    beside: rt_load.Prediction | None
    neighbours: tuple[rt_reservation.Reservation, ...]
    percentiles: tuple[float, ...]
    target: rt_load.Target | None = None
    in_kernel: tuple[rt_reservation.Reservation, ...] = ()

    @property
    def columns(self) -> dict[str, rt_load.Prediction]:
        """Returns the predictions by the heading of their column."""
        others = ('others' if not self.kernel.at_ticks
                  or self.kernel.rule is rt_kernel.Rule.RT_GROUP_SCHED
                  else f'{rt_kernel.NEIGHBOURS} others')
        predictions = {ALONE: self.alone,
                       f'at most, with {others}': self.bound}
        if self.beside is not None:
            predictions['beside neighbours'] = self.beside
        return predictions


def text(given: Answer) -> str:
    """Returns the answer as lines of text with one table."""
    reservation, load = given.reservation, given.load
    used = load.arrival_rate_hz / (load.service_rate_hz * reservation.share)
    total = given.vcpus * load.arrival_rate_hz
    lines = [
        f'Reservation: {reservation}; the requests use {used:.1%} of it.',
        f'Requests: {total:g} a second' + (
            f', {load.arrival_rate_hz:g} to each of {given.vcpus} vCPUs.'
            if given.vcpus > 1 else '.'),
        f'Kernel: {given.kernel}.']
    if given.neighbours:
        lines.append('Neighbours, always busy: ' + '; '.join(
            map(str, given.neighbours)) + '.')
    if given.in_kernel:
        lines.append('In the kernel, divided: ' + '; beside '.join((
            str(given.in_kernel[0]), '; '.join(
                map(str, given.in_kernel[1:])))) + '.')
    lines += [given.note] if given.note else []
    columns = given.columns
    lines += ['', f'Response time in ms ({given.model})',
              _line('', columns)]
    lines.append(_line('mean', [
        f'{one.mean_us / 1000:.3f}' for one in columns.values()]))
    for part in given.percentiles:
        lines.append(_line(percent(part), [
            f'{one.percentile_us(part) / 1000:.3f}'
            for one in columns.values()]))
    return '\n'.join(lines)


def _line(name: str, cells: Any) -> str:
    return f'{name:8}' + ''.join(f'{cell:>{_WIDTH}}' for cell in cells)


def percent(part: float) -> str:
    """Returns a percentile as people write it: ``p99.9`` for 0.999."""
    value = (decimal.Decimal(repr(part)) * 100).normalize()
    return f'p{value:f}'


def as_json(given: Answer, **more: Any) -> str:
    """Returns the answer as JSON.

    :param more: further keys of the object
    """
    reservation = given.reservation
    content = {
        'runtime_us': reservation.runtime_us,
        'period_us': reservation.period_us,
        'share': round(reservation.share, 6),
        'vcpus': given.vcpus,
        'arrival_rate_hz': given.vcpus * given.load.arrival_rate_hz,
        'kernel': str(given.kernel.rule), 'tick_us': given.kernel.tick_us,
        'note': given.note, 'model': given.model,
        **_times(given, given.alone), BOUND: _times(given, given.bound)}
    if given.beside is not None:
        content[BESIDE] = {
            'neighbours': [dataclasses.asdict(one)
                           for one in given.neighbours],
            'in_kernel': [dataclasses.asdict(one)
                          for one in given.in_kernel],
            **_times(given, given.beside)}
    return json.dumps({**content, **more}, indent=2)


def _times(given: Answer, prediction: rt_load.Prediction) -> dict[str, Any]:
    return {'mean_ms': round(prediction.mean_us / 1000, 6),
            'percentiles': {
                repr(one): round(prediction.percentile_us(one) / 1000, 6)
                for one in given.percentiles}}
