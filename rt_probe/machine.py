# SPDX-License-Identifier: Apache-2.0

"""Reads CPU time and steal of a whole virtual machine from /proc/stat."""

import dataclasses
import os

from rt_probe import counters
from rt_probe import whole

PATH = '/proc/stat'
_NS_PER_S = 1_000_000_000
#: A line has user, nice, system, idle, iowait, irq, softirq and steal.
_IDLE, _IOWAIT, _STEAL, _FIELDS = 3, 4, 7, 8


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """CPU time of all CPUs of a machine since it started, in ns.

    :ivar stolen_ns: time that the hypervisor gave to others while this
        machine wanted to run
    :ivar certain: whether the hypervisor is known to report such time
    :ivar cpus: the number of CPUs
    """

    busy_ns: int
    idle_ns: int
    stolen_ns: int
    certain: bool = True
    cpus: int = 1

    def received_ns(self, since: 'Machine', wall_ns: int) -> int:
        """Returns the CPU time that a machine received that was never idle.

        The steal and the idle time are exact.  The kernel samples the busy
        time at ticks, and may count too much or too little.

        :param wall_ns: the time since the reading *since*
        """
        return max(0, self.cpus * wall_ns - (self.idle_ns - since.idle_ns)
                   - (self.stolen_ns - since.stolen_ns))


def parse(data: bytes, hertz: int) -> Machine:
    """Parses the first line of /proc/stat.

    :param hertz: how many units of the file make a second
    :raises ValueError: when the line has another form
    """
    words = data.partition(b'\n')[0].split()
    if len(words) < 1 + _FIELDS or words[0] != b'cpu':
        raise ValueError(f'{PATH} begins with {data[:40]!r}, which does not '
                         'contain steal')
    # The time of guests is contained in user and nice.
    times = [int(word) * _NS_PER_S // hertz for word in words[1:1 + _FIELDS]]
    idle = times[_IDLE] + times[_IOWAIT]
    return Machine(sum(times) - idle - times[_STEAL], idle, times[_STEAL])


class Steal:
    """The file /proc/stat, kept open.

    :raises OSError: when the file cannot be read
    :raises ValueError: when the file does not contain steal
    """

    def __init__(self, root: str = '') -> None:
        self._file = counters.Counter(root + PATH)
        self._virtual = whole.may_be_virtual(root)
        self._hertz = os.sysconf('SC_CLK_TCK')
        self.sample()

    def sample(self) -> Machine:
        """Reads the file."""
        machine = parse(self._file.read(), self._hertz)
        return dataclasses.replace(
            machine, cpus=os.cpu_count() or 1,
            certain=bool(machine.stolen_ns) or not self._virtual)

    @property
    def unit_ns(self) -> int:
        """The unit in which the file counts."""
        return _NS_PER_S // self._hertz
