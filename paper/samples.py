# SPDX-License-Identifier: Apache-2.0

"""The results of a run of requests: response times and their statistics."""

from collections.abc import Sequence
import dataclasses
import pathlib

import numpy as np
import numpy.typing as npt

from nova_rt.rules import exception
from paper import workload as rt_workload

Floats = npt.NDArray[np.float64]

COLUMNS = ('sent_ns', 'response_ns', 'service_ns', 'size', 'client',
           'server_cpu_ns')
#: Student's t for 95 %, two-sided, by degrees of freedom from 1; for more
#: degrees the value of the normal distribution is used.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
        2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
        2.086)
NORMAL95 = 1.960


class NoReplies(exception.RTError):
    """There was no reply, so nothing was measured."""

    msg_fmt = ('No reply to any of %(requests)d requests: the server or the '
               'link to it is down.')


class Samples:
    """The requests of one run, in order of time.

    :param schedule: the result of :meth:`workload.Workload.schedule`
    :param found: a row for each request: when it was sent, ns to the reply or
        -1, CPU time of the server so far
    :raises NoReplies: when no request has a reply
    """

    def __init__(self, schedule: rt_workload.Integers,
                 found: rt_workload.Integers) -> None:
        self._table = np.column_stack(
            (found[:, :2], schedule[:, 1:], found[:, 2:]))
        self._late = found[:, 0] - schedule[:, 0]
        if self.lost == len(found):
            raise NoReplies(requests=len(found))

    @property
    def lost(self) -> int:
        """Returns the number of requests without a reply."""
        return int(np.sum(self._table[:, 1] < 0))

    @property
    def late_us(self) -> float:
        """Returns how late requests were sent, the 99th percentile."""
        return float(np.percentile(self._late, 99)) / rt_workload.NS_PER_US

    @property
    def latest_us(self) -> float:
        """Returns how late the latest request was sent."""
        return float(np.max(self._late)) / rt_workload.NS_PER_US

    def responses_us(self, warm_up: int = 0) -> Floats:
        """Returns response times without the first *warm_up* requests."""
        responses = self._table[warm_up:, 1]
        return responses[responses >= 0] / rt_workload.NS_PER_US

    @property
    def sent_us(self) -> Floats:
        """Returns when each request was sent."""
        return self._table[:, 0] / rt_workload.NS_PER_US

    @property
    def works_us(self) -> Floats:
        """Returns the CPU time that each request asked for."""
        return self._table[:, 2] / rt_workload.NS_PER_US

    @property
    def sizes(self) -> Floats:
        """Returns the sizes in bytes."""
        return self._table[:, 3].astype(np.float64)

    def cpu_us(self) -> float:
        """Returns the average CPU time of the server for a request."""
        used = self._table[self._table[:, 1] >= 0, 5]
        return float(used[-1] - used[0]) / (
            rt_workload.NS_PER_US * max(1, len(used) - 1))

    def write(self, path: pathlib.Path) -> None:
        """Writes CSV with a line for each request."""
        np.savetxt(path, self._table, fmt='%d', delimiter=',',
                   header=','.join(COLUMNS), comments='')


@dataclasses.dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of independent runs and its 95 % interval, +- half."""

    value: float
    half: float


def estimate(values: Sequence[float]) -> Estimate:
    """Estimates from a value of each run; the interval of one run is nan."""
    count = len(values)
    value = float(np.mean(values))
    if count < 2:
        return Estimate(value, float('nan'))
    factor = _T95[count - 2] if count - 2 < len(_T95) else NORMAL95
    return Estimate(value, factor * float(np.std(values, ddof=1))
                    / count ** 0.5)
