# SPDX-License-Identifier: Apache-2.0

"""The requests of clients: when, how much work, how many bytes."""

import dataclasses

import numpy as np
import numpy.typing as npt

#: Bytes of the header of a message, and the most bytes that UDP carries.
MIN_SIZE, MAX_SIZE = 16, 65507
NS_PER_US = 1000

Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution: exponential with a mean, or always the same value."""

    mean: float
    fixed: bool = False

    def draw(self, source: np.random.Generator, count: int
             ) -> npt.NDArray[np.float64]:
        """Draws this number of values, in the unit of the mean."""
        if self.fixed:
            return np.full(count, self.mean)
        return source.exponential(self.mean, count)


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """The requests of several clients to one server.

    :param intervals: us between requests, of all clients together
    :param service: us of CPU time of each request
    :param size: bytes of each request
    :param clients: number of connections, which take turns
    :param backlog: average number of requests that wait at the start: as many
        as at a random moment, so that a run needs no time to fill its queue
    """

    intervals: Distribution
    service: Distribution
    size: Distribution = Distribution(128, fixed=True)
    clients: int = 1
    transport: str = 'udp'
    backlog: float = 0.0

    def waiting(self, seed: int) -> int:
        """Returns how many requests of a schedule wait at its start.

        The number is geometric, as in an M/M/1 queue.
        """
        source = np.random.default_rng((seed, *self._scale))
        return int(source.geometric(1 / (1 + self.backlog))) - 1

    @property
    def _scale(self) -> tuple[int, ...]:
        return tuple(round(one.mean * NS_PER_US) for one in (
            self.intervals, self.service, self.size))

    def schedule(self, requests: int, seed: int) -> Integers:
        """Returns a row for each request: ns, CPU time in ns, bytes, client.

        Each call returns the same rows.  Workloads with other intervals, CPU
        times or sizes have other rows.  The first :meth:`waiting` requests are
        due at once.
        """
        sources = np.random.default_rng((seed, *self._scale)).spawn(3)
        draws = [one.draw(source, requests) for one, source in zip(
            (self.intervals, self.service, self.size), sources, strict=True)]
        draws[0][:self.waiting(seed)] = 0
        return np.column_stack((
            np.cumsum(draws[0]) * NS_PER_US, draws[1] * NS_PER_US,
            np.clip(draws[2], MIN_SIZE, MAX_SIZE),
            np.arange(requests) % self.clients)).astype(np.int64)
