# SPDX-License-Identifier: Apache-2.0

"""Many creates at once onto hosts that are nearly full."""

import dataclasses
import random

from tests.functional.soak import checks
from tests.functional.soak import cloud as rt_cloud
from tests.functional.soak import moves
from tests.functional.soak import plan


@dataclasses.dataclass
class Result:
    """The outcomes of the requests.

    :ivar placed: the number of placed servers, by attempt
    :ivar refused: servers that the scheduler refused, when no host had room
    :ivar gone: servers that lost their races, when no host had room any more
    :ivar missed: servers that lost their races, when a host still had room
    :ivar late: servers that found no host with room, although a host has room
        at the end, because others returned their allocations to Placement
    :ivar again: servers that were not placed at first, but are placed when
        they are requested again, one after the other
    """

    placed: dict[int, int]
    refused: int
    gone: int
    missed: int
    late: int
    again: int

    @property
    def share(self) -> float:
        """Returns the placed part of the requests that fit."""
        placed = sum(self.placed.values())
        return placed / (placed + self.missed)


class Burst:
    """*count* requests, up to *flight* of them between scheduler and end.

    Which of them is tried on its next host is drawn: that is what threads
    do, and can be repeated.
    """

    def __init__(self, cloud: moves.Cloud, seed: int) -> None:
        self._cloud = cloud
        self._rng = random.Random(seed)  # noqa: S311
        self._number = 0
        self._refused: list[rt_cloud.Wish] = []

    def fill(self, share: float) -> None:
        """One after the other, until *share* of all is used."""
        while self._used() < share:
            if self._create(self._wish()):
                self._cloud.build_one()
        self._refused.clear()
        checks.check(self._cloud, set())
        self._cloud.attempts = dict.fromkeys(self._cloud.attempts, 0)

    def _used(self) -> float:
        states = [host.rt.rt_state() for host in self._cloud.hosts.values()]
        return sum(state.total_used for state in states) / sum(
            state.total for state in states)

    def _wish(self) -> rt_cloud.Wish:
        runtime, period = self._rng.choice(plan.PAIRS)
        return rt_cloud.Wish(runtime, period, self._rng.randint(1, 3))

    def _create(self, wish: rt_cloud.Wish) -> bool:
        """A scheduler reads the database for each request."""
        self._number += 1
        scheduler = self._rng.randrange(len(self._cloud.schedulers))
        self._cloud.schedulers[scheduler].refresh()
        found = self._cloud.create(
            f'burst{self._number}', wish, 1, scheduler)
        if not found:
            self._refused.append(wish)
        return found

    def run(self, count: int, flight: int) -> Result:
        cloud, missed = self._cloud, 0
        while count or cloud.pending:
            if count and len(cloud.pending) < flight:
                count -= 1
                self._create(self._wish())
            else:
                missed += self._attempt()
            checks.check(cloud, set())
        placed = {number: times for number, times in cloud.attempts.items()
                  if number}
        late = sum(map(self._fits, cloud.lost)) - missed
        refused, gone = len(self._refused), len(cloud.lost) - missed
        return Result(placed, refused, gone, missed, max(0, late),
                      self._again())

    def _again(self) -> int:
        cloud, placed = self._cloud, 0
        for wish in [*self._refused, *(cloud.wishes[build.uuid]
                                       for build in cloud.lost)]:
            lost = len(cloud.lost)
            if self._create(wish):
                cloud.build_one()
                placed += len(cloud.lost) == lost
        checks.check(cloud, set())
        return placed

    def _attempt(self) -> bool:
        """Returns whether a build lost its last race, but would have room."""
        build = self._rng.choice(self._cloud.pending)
        lost = len(self._cloud.lost)
        self._cloud.attempt(build)
        return len(self._cloud.lost) > lost and self._fits(build)

    def _fits(self, build: rt_cloud.Build) -> bool:
        """Returns whether a server that was not placed has room now."""
        self._cloud.schedulers[0].refresh()
        return bool(self._cloud.room(
            self._cloud.schedulers[0], self._cloud.wishes[build.uuid], ()))
