# SPDX-License-Identifier: Apache-2.0

"""What clients ask of a server: when, how much work, how many bytes."""

import dataclasses

import numpy as np
import numpy.typing as npt

#: Bytes: the header of a message, and the most that UDP carries.
MIN_SIZE, MAX_SIZE = 16, 65507
NS_PER_US = 1000

Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Distribution:
    """Exponential with a mean, or always the same."""

    mean: float
    fixed: bool = False

    def draw(self, source: np.random.Generator, count: int
             ) -> npt.NDArray[np.float64]:
        """This many values, in the unit of the mean."""
        if self.fixed:
            return np.full(count, self.mean)
        return source.exponential(self.mean, count)


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """Requests of several clients to one server.

    :param intervals: us between requests, of all clients together
    :param service: us of CPU time of each
    :param size: bytes of each
    :param clients: connections that they come over, by turns
    :param backlog: requests that wait at the start, on average: as many as
        a random moment finds, so that a run needs no time to fill its queue
    """

    intervals: Distribution
    service: Distribution
    size: Distribution = Distribution(128, fixed=True)
    clients: int = 1
    transport: str = 'udp'
    backlog: float = 0.0

    def waiting(self, seed: int) -> int:
        """How many of a schedule's requests are there at its start.

        Geometric, as the number in an M/M/1 queue.
        """
        source = np.random.default_rng((seed, *self._scale))
        return int(source.geometric(1 / (1 + self.backlog))) - 1

    @property
    def _scale(self) -> tuple[int, ...]:
        return tuple(round(one.mean * NS_PER_US) for one in (
            self.intervals, self.service, self.size))

    def schedule(self, requests: int, seed: int) -> Integers:
        """A row for each request: at (ns), CPU time (ns), bytes, client.

        The same at every call, and unlike those of another interval, CPU
        time or size.  The first :meth:`waiting` ones are due at once.
        """
        sources = np.random.default_rng((seed, *self._scale)).spawn(3)
        draws = [one.draw(source, requests) for one, source in zip(
            (self.intervals, self.service, self.size), sources, strict=True)]
        draws[0][:self.waiting(seed)] = 0
        return np.column_stack((
            np.cumsum(draws[0]) * NS_PER_US, draws[1] * NS_PER_US,
            np.clip(draws[2], MIN_SIZE, MAX_SIZE),
            np.arange(requests) % self.clients)).astype(np.int64)
