# SPDX-License-Identifier: Apache-2.0

"""Attributes the energy of the CPU sockets to servers, by their work.

The formulas are equations 1 and 2 of Brondolin and Santambrogio.  The
attributed energy and the idle energy add up to the measured energy, to the
microjoule.  The module was tested only with recorded and invented numbers, not
on hardware that has energy meters.
"""

from collections.abc import Iterable, Mapping

#: HT_r: the work of two threads of a core together, relative to one alone.
THREADS_RATIO = 1.1
#: The names for energy that is not attributed to a server.
HOST, IDLE = 'host', 'idle'


def weighted(alone: float, beside: float, ratio: float = THREADS_RATIO
             ) -> float:
    """Returns weighted cycles (Eq. 1).

    :param alone: cycles while the other thread of the core was idle
    :param beside: cycles while the other thread of the core was busy
    :param ratio: HT_r, between 1 and 2
    """
    return alone + ratio / 2 * beside


def share_out(energy_uj: int, weights: Mapping[str, float]
              ) -> dict[str, int]:
    """Divides the energy of a socket by work (Eq. 2).

    :param weights: the work by name.  The work of IDLE is the idle time, or
        the cycles while a CPU was idle.
    :returns: the energy in uJ by name, with IDLE, which also gets the rest
        of the rounding; the sum is *energy_uj*
    """
    whole = sum(weights.values())
    parts = {name: int(energy_uj * (weight / whole)) if whole else 0
             for name, weight in weights.items() if name != IDLE}
    return {**parts, IDLE: energy_uj - sum(parts.values())}


def add_up(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Adds the energy of several sockets or times, by name."""
    sums: dict[str, int] = {}
    for part in parts:
        for name, energy_uj in part.items():
            sums[name] = sums.get(name, 0) + energy_uj
    return sums


def spent_uj(before: int, now: int, most: int) -> int:
    """Returns what a meter counted between two readings.

    :param most: the value after which the meter starts again from 0, at most
        once between the readings
    """
    return now - before if now >= before else now - before + most


class Account:
    """The energy of each server since the account was opened.

    The account must be updated before a meter starts again from 0 twice,
    which takes at least some minutes.
    """

    def __init__(self, meters_uj: Mapping[int, int],
                 most_uj: Mapping[int, int],
                 socket_of: Mapping[int, int]) -> None:
        """Opens the account.

        :param meters_uj: the present readings, by socket
        :param most_uj: the value after which each meter starts again from 0
        :param socket_of: the socket of each CPU
        """
        self._meters, self._most = dict(meters_uj), dict(most_uj)
        self._socket_of = dict(socket_of)
        self._work: dict[str, Mapping[int, float]] = {}
        #: The energy in uJ by name, with HOST and IDLE.
        self.parts: dict[str, int] = {}

    def update(self, meters_uj: Mapping[int, int],
               work: Mapping[str, Mapping[int, float]]) -> None:
        """Attributes the energy that was spent since the last update.

        :param meters_uj: the present readings, by socket
        :param work: the work by name and CPU since the account was opened,
            with IDLE: weighted cycles or CPU time
        """
        parts = [self.parts]
        for socket, now in meters_uj.items():
            energy = spent_uj(self._meters[socket], now, self._most[socket])
            parts.append(share_out(energy, {
                name: self._since(name, by_cpu, socket)
                for name, by_cpu in work.items()}))
        self.parts = add_up(parts)
        self._meters, self._work = dict(meters_uj), dict(work)

    def _since(self, name: str, by_cpu: Mapping[int, float], socket: int
               ) -> float:
        before = self._work.get(name, {})
        done = sum(by_cpu[cpu] - before.get(cpu, 0) for cpu in by_cpu
                   if self._socket_of.get(cpu) == socket)
        # The difference is negative if the counts of the server started
        # again from 0.
        return max(0.0, done)


def idle(span_s: float, cpus: Iterable[int],
         work: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Returns the idle time of each CPU, in s.

    :param work: for each server and the host, the CPU time on each CPU
    """
    busy: dict[int, float] = {}
    for by_cpu in work:
        for cpu, seconds in by_cpu.items():
            busy[cpu] = busy.get(cpu, 0.0) + seconds
    return {cpu: max(0.0, span_s - busy.get(cpu, 0.0)) for cpu in cpus}
