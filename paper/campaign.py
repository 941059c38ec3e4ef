# SPDX-License-Identifier: Apache-2.0

"""Measures many points in any number of commands.

Each run is in the data as soon as it ends, and a later command continues
where an earlier one stopped.
"""

from collections.abc import Iterable, Iterator, Sequence
import dataclasses
import fnmatch
import itertools
import time

from nova_rt.rules import exception
from paper import bench
from paper import link
from paper import measure
from paper import measured
from paper import points as rt_points
from paper import records
from paper import rtwalk

#: How many runs a point gets before the next point has its turn, so that a
#: disturbance of some minutes does not affect all runs of a point.
_TURN = 5


class Incomplete(exception.RTError):
    """Some points were not measured yet, so there is no table."""

    msg_fmt = ('%(missing)d of %(all)d points have no run yet (%(first)s); '
               'run the same command again to continue.')


@dataclasses.dataclass(frozen=True)
class Campaign:
    """Some points and their runs.

    :param end: a time of the monotonic clock after which no run starts
    """

    settings: bench.Settings
    extent: bench.Extent
    data: records.Data
    end: float

    @property
    def _spent(self) -> bool:
        return time.monotonic() >= self.end

    def measure(self, wanted: Sequence[rt_points.Point]) -> None:
        """Runs every point, as far as the time allows."""
        seeds = self.settings.effort.seeds
        for goal in (*range(_TURN, seeds, _TURN), seeds):
            for megabits, points in itertools.groupby(
                    wanted, key=lambda point: point.megabits):
                some = [point for point in points if self._selected(point)
                        and self._lacking(point, goal)]
                if some and not self._spent:
                    self._over_link(megabits, some, goal)

    def _selected(self, point: rt_points.Point) -> bool:
        return any(fnmatch.fnmatchcase(point.name, pattern)
                   for pattern in self.extent.only)

    def _lacking(self, point: rt_points.Point, goal: int) -> int:
        return max(0, goal - sum(
            measured.LIMITS.allow(run) for run in self.runs(point)))

    def runs(self, point: rt_points.Point) -> list[records.Record]:
        """Returns the runs of a point."""
        return [run for run in self.data.records if run.point == point.name]

    def _over_link(self, megabits: int, points: Iterable[rt_points.Point],
                   goal: int) -> None:
        with link.limited(megabits) as endpoint:
            for point in points:
                if self._spent:
                    return
                self._visit(endpoint, point, self._lacking(point, goal))

    def _visit(self, endpoint: rtwalk.Endpoint, point: rt_points.Point,
               lacking: int) -> None:
        if point.reservation is None:
            raise ValueError(f'{point.name} has no reservation')
        effort = self.settings.effort.lasting(self.extent.run_s,
                                              point.interval_us)
        with self.settings.place(endpoint, point.reservation) as command:
            client = measure.Client(endpoint, command, point, effort)
            for seed in self._seeds(point, lacking):
                for run in client.runs(seed):
                    self.data.add(run.record)
                    if self._spent:
                        return
        latest = measured.Measured(point, self.runs(point))
        print(f'{point.name}: runs {len(latest.counted)}, mean '
              f'{latest.value("mean")[0]:.0f} us, p99 '
              f'{latest.value("p99")[0]:.0f} us', flush=True)

    def _seeds(self, point: rt_points.Point, count: int) -> Iterator[int]:
        """Returns the next seeds that this point has not had."""
        had = {run.seed for run in self.runs(point)}
        new = (seed for seed in itertools.count(self.settings.seed_base)
               if seed not in had)
        return itertools.islice(new, count)


def run(settings: bench.Settings, extent: bench.Extent,
        curves: Sequence[Sequence[rt_points.Point]]
        ) -> list[list[measured.Measured]]:
    """Measures missing runs; returns all measurements, by curve.

    :raises Incomplete: when the time is over, and a point has no run yet
    :raises OSError: when a reservation does not fit (EBUSY)
    """
    curves = [curve[:extent.first] for curve in curves]
    campaign = Campaign(settings, extent, records.Data(extent.data),
                        time.monotonic() + extent.seconds)
    wanted = [point for curve in curves for point in curve]
    if extent.seconds > 0:
        print(f'Seeds from {settings.seed_base} on '
              f'(--seed-base {settings.seed_base})', flush=True)
        campaign.measure(wanted)
    missing = [point.name for point in wanted if not campaign.runs(point)]
    if missing:
        raise Incomplete(missing=len(missing), all=len(wanted),
                         first=missing[0])
    return [[measured.Measured(point, campaign.runs(point))
             for point in curve] for curve in curves]
