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
    """

    intervals: Distribution
    service: Distribution
    size: Distribution = Distribution(128, fixed=True)
    clients: int = 1
    transport: str = 'udp'

    def schedule(self, requests: int, seed: int) -> Integers:
        """A row for each request: at (ns), CPU time (ns), bytes, client.

        The same at every call, and unlike those of another interval.
        """
        sources = np.random.default_rng(
            (seed, round(self.intervals.mean * NS_PER_US))).spawn(3)
        draws = [one.draw(source, requests) for one, source in zip(
            (self.intervals, self.service, self.size), sources, strict=True)]
        return np.column_stack((
            np.cumsum(draws[0]) * NS_PER_US, draws[1] * NS_PER_US,
            np.clip(draws[2], MIN_SIZE, MAX_SIZE),
            np.arange(requests) % self.clients)).astype(np.int64)
