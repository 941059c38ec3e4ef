# SPDX-License-Identifier: Apache-2.0

"""The response times of a reservation, as text and as JSON."""

import dataclasses
import decimal
import json
from typing import Any

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load

ALONE = 'alone on its CPU'
#: Names of columns in JSON; that of a lone server has none of its own.
BOUND, BESIDE = 'bound', 'beside'
_WIDTH = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A reservation and the response times it gives.

    :ivar load: of each vCPU
    :ivar model: what the times of a lone server come from
    :ivar alone: those times
    :ivar bound: what they are at most, whatever else runs on the CPU
    :ivar beside: what they are beside *neighbours*; None without any
    :ivar note: a sentence on what could not be told of the kernel
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

    @property
    def columns(self) -> dict[str, rt_load.Prediction]:
        """What there is to say, by what it holds for."""
        others = ('others' if not self.kernel.at_ticks
                  or self.kernel.rule is rt_kernel.Rule.RT_GROUP_SCHED
                  else f'{rt_kernel.NEIGHBOURS} others')
        found = {ALONE: self.alone, f'at most, with {others}': self.bound}
        if self.beside is not None:
            found['beside those named'] = self.beside
        return found


def text(given: Answer) -> str:
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
        lines.append('Beside, always busy: ' + '; '.join(
            map(str, given.neighbours)) + '.')
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
    """A percentile as people write it: ``p99.9`` of 0.999."""
    value = (decimal.Decimal(repr(part)) * 100).normalize()
    return f'p{value:f}'


def as_json(given: Answer, **more: Any) -> str:
    reservation = given.reservation
    found = {
        'runtime_us': reservation.runtime_us,
        'period_us': reservation.period_us,
        'share': round(reservation.share, 6),
        'vcpus': given.vcpus,
        'arrival_rate_hz': given.vcpus * given.load.arrival_rate_hz,
        'kernel': str(given.kernel.rule), 'tick_us': given.kernel.tick_us,
        'note': given.note, 'model': given.model,
        **_times(given, given.alone), BOUND: _times(given, given.bound)}
    if given.beside is not None:
        found[BESIDE] = {
            'neighbours': [dataclasses.asdict(one)
                           for one in given.neighbours],
            **_times(given, given.beside)}
    return json.dumps({**found, **more}, indent=2)


def _times(given: Answer, prediction: rt_load.Prediction) -> dict[str, Any]:
    return {'mean_ms': round(prediction.mean_us / 1000, 6),
            'percentiles': {
                repr(one): round(prediction.percentile_us(one) / 1000, 6)
                for one in given.percentiles}}
