# SPDX-License-Identifier: Apache-2.0

"""The whole of a virtual machine: /proc/stat, where steal is."""

import dataclasses
import os

from rt_probe import counters

PATH = '/proc/stat'
_NS_PER_S = 1_000_000_000
#: Of a line: user, nice, system, idle, iowait, irq, softirq, steal.
_IDLE, _IOWAIT, _STEAL, _FIELDS = 3, 4, 7, 8


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """CPU time of all CPUs of a machine, ever, in ns.

    :ivar stolen_ns: what the hypervisor gave to others while we wanted it
    """

    busy_ns: int
    idle_ns: int
    stolen_ns: int


def parse(data: bytes, hertz: int) -> Machine:
    """The first line of /proc/stat.

    :param hertz: units a second
    :raises ValueError: it is of another kind
    """
    words = data.partition(b'\n')[0].split()
    if len(words) < 1 + _FIELDS or words[0] != b'cpu':
        raise ValueError(f'{PATH} reads {data[:40]!r}, which has no steal')
    # Time of guests is part of the first two.
    times = [int(word) * _NS_PER_S // hertz for word in words[1:1 + _FIELDS]]
    idle = times[_IDLE] + times[_IOWAIT]
    return Machine(sum(times) - idle - times[_STEAL], idle, times[_STEAL])


class Steal:
    """The file, kept open.

    :raises OSError, ValueError: it cannot be read, or has no steal
    """

    def __init__(self, root: str = '') -> None:
        self._file = counters.Counter(root + PATH)
        self._hertz = os.sysconf('SC_CLK_TCK')
        self.sample()

    def sample(self) -> Machine:
        return parse(self._file.read(), self._hertz)

    @property
    def unit_ns(self) -> int:
        """How finely it counts."""
        return _NS_PER_S // self._hertz
