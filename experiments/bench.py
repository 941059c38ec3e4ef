# SPDX-License-Identifier: Apache-2.0

"""Curves: one reservation and load, requests of growing length."""

from collections.abc import Callable, Iterable, Sequence
import contextlib
import dataclasses
import functools
import math
import pathlib

import numpy as np

from experiments import link
from experiments import measure
from experiments import published
from experiments import rtwalk
from experiments import workload as rt_workload
from nova_rt import reservation as rt_reservation

#: A server with a reservation: the command that starts its clients.
Place = Callable[[rtwalk.Endpoint, rt_reservation.Reservation],
                 contextlib.AbstractContextManager[Sequence[str]]]

#: Mb/s of the paper's switch.
MEGABITS = 1000
#: Bytes.  Up to this size requests are all of one size, and the time to
#: send them is neglected, as in the paper.
_SMALL = 128


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Of one experiment.

    :param directory: where results go; it exists
    """

    directory: pathlib.Path
    place: Place
    effort: measure.Effort

    def with_seeds(self, most: int) -> 'Settings':
        """The same with no more seeds than this."""
        return dataclasses.replace(self, effort=dataclasses.replace(
            self.effort, seeds=min(most, self.effort.seeds)))


@dataclasses.dataclass(frozen=True)
class Curve:
    """What was measured, in order of the intervals."""

    name: str
    points: Sequence[measure.Point]
    reservation: rt_reservation.Reservation
    megabits: float

    @functools.cached_property
    def _predictions(self) -> Sequence[dict[str, measure.Prediction]]:
        return [measure.predict(point, self.reservation, self.megabits)
                for point in self.points]

    def predictions(self, model: str) -> list[measure.Prediction]:
        return [found[model] for found in self._predictions]

    @property
    def intervals(self) -> tuple[float, float]:
        """Half a 95 % interval of mean and p99 in per cent, on average."""
        both = [[100 * one.half / one.value
                 for one in (point.mean_us, point.p99_us)]
                for point in self.points]
        mean, p99 = np.mean(both, axis=0)
        return float(mean), float(p99)


def curve(settings: Settings, name: str, intervals_us: Iterable[float],
          size: float, load: float, share: float,
          megabits: int = MEGABITS) -> Curve:
    """Measure a server at several intervals of requests.

    :param load: CPU time of a request over the interval between two
    :param share: Q / P
    :raises OSError: EBUSY where the reservation does not fit
    """
    period = published.PERIOD_US
    reservation = rt_reservation.Reservation(round(share * period), period)
    small = size <= _SMALL
    sizes = rt_workload.Distribution(size, fixed=small)
    points = []
    with link.limited(megabits) as endpoint:
        for interval in intervals_us:
            workload = rt_workload.Workload(
                rt_workload.Distribution(interval),
                rt_workload.Distribution(load * interval), sizes)
            with settings.place(endpoint, reservation) as client:
                points.append(measure.measure(
                    endpoint, client, workload, settings.effort.at(interval),
                    settings.directory / f'{name}-{interval:g}'))
            _progress(name, interval, points[-1])
    return Curve(name, points, reservation, math.inf if small else megabits)


def _progress(name: str, interval: float, point: measure.Point) -> None:
    print(f'{name}, a request every {interval:g} us: mean '
          f'{point.mean_us.value:.0f} us, p99 {point.p99_us.value:.0f} us',
          flush=True)


def write(path: pathlib.Path, curves: Iterable[Curve]) -> None:
    """As CSV, a line for each run."""
    measure.write(path, {
        f'{one.name}-{point.workload.intervals.mean:g}': point
        for one in curves for point in one.points})
