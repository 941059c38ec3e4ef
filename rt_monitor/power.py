# SPDX-License-Identifier: Apache-2.0

"""Energy of servers: the meters of the sockets, shared out by their work.

Equations 1 and 2 of Brondolin and Santambrogio.  What is attributed and what
is idle add up to what was measured, to the microjoule.  It was tried with
recorded and made-up numbers only, not on hardware that has such meters.
"""

from collections.abc import Iterable, Mapping

#: What two threads of a core do together, of what one does alone: HT_r.
THREADS_RATIO = 1.1
#: Names of what is no server's.
HOST, IDLE = 'host', 'idle'


def weighted(alone: float, beside: float, ratio: float = THREADS_RATIO
             ) -> float:
    """What cycles count for (Eq. 1).

    :param alone: cycles while the other thread of the core was idle
    :param beside: cycles while it was busy
    :param ratio: HT_r, between 1 and 2
    """
    return alone + ratio / 2 * beside


def share_out(energy_uj: int, weights: Mapping[str, float]
              ) -> dict[str, int]:
    """Each one's part of the energy of a socket, in uJ (Eq. 2).

    :param weights: by name; what nobody's work is for is that of IDLE, which
        gets what is left over by rounding, too
    :returns: by name and for IDLE; their sum is the energy
    """
    whole = sum(weights.values())
    found = {name: int(energy_uj * (weight / whole)) if whole else 0
             for name, weight in weights.items() if name != IDLE}
    return {**found, IDLE: energy_uj - sum(found.values())}


def add_up(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Adds up what several sockets or times had, by name."""
    found: dict[str, int] = {}
    for part in parts:
        for name, energy_uj in part.items():
            found[name] = found.get(name, 0) + energy_uj
    return found


def spent_uj(before: int, now: int, most: int) -> int:
    """What a meter counted between two readings.

    :param most: after so much it begins anew, once at most meanwhile
    """
    return now - before if now >= before else now - before + most


class Account:
    """The energy of each server since it was begun.

    It must be brought up to date before any meter begins anew twice, which
    takes minutes at least.
    """

    def __init__(self, meters_uj: Mapping[int, int],
                 most_uj: Mapping[int, int],
                 socket_of: Mapping[int, int]) -> None:
        """Begin now.

        :param meters_uj: readings, by socket
        :param most_uj: where each meter begins anew
        :param socket_of: by CPU
        """
        self._meters, self._most = dict(meters_uj), dict(most_uj)
        self._socket_of = dict(socket_of)
        self._work: dict[str, Mapping[int, float]] = {}
        #: uJ by name, HOST and IDLE among them
        self.parts: dict[str, int] = {}

    def update(self, meters_uj: Mapping[int, int],
               work: Mapping[str, Mapping[int, float]]) -> None:
        """Share out what was spent since the last time.

        :param meters_uj: readings, by socket
        :param work: by name, what was done on each CPU since the very
            beginning: weighted cycles or CPU time; that of IDLE included
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
        # A server of the same name that began anew.
        return max(0.0, done)


def idle(span_s: float, cpus: Iterable[int],
         work: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """The time that each CPU did nothing, in s.

    :param work: CPU time of everybody on each CPU
    """
    busy: dict[int, float] = {}
    for by_cpu in work:
        for cpu, seconds in by_cpu.items():
            busy[cpu] = busy.get(cpu, 0.0) + seconds
    return {cpu: max(0.0, span_s - busy.get(cpu, 0.0)) for cpu in cpus}
