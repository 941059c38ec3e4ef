# SPDX-License-Identifier: Apache-2.0

"""Decides whether a kernel can give each server on a pCPU its runtime.

Under EDF (HCBS, SCHED_DEADLINE) the sum of the shares decides.  Mainline
RT_GROUP_SCHED runs servers by fixed priorities.  This module computes the
priorities from the periods, and has the response-time analysis for them.

A server of RT_GROUP_SCHED is deferrable (Strosnider, Lehoczky and Sha, IEEE
Trans. Computers 44(1), 1995): it may use its runtime late in one period and
again early in the next.  For the servers that it delays, a server acts like a
task with a release jitter of period - runtime (Audsley et al., Software
Engineering Journal 8(5), 1993).  So in t microseconds it runs for at most
ceil((t + period - runtime) / period) * runtime + overrun.  The overrun is at
most a tick, and the server pays it back in its next periods.  Servers of one
level delay each other as if each had the higher level.  Tasks under SCHED_RR
take turns, but a task that sleeps just before each tick never ends its turn.
A task that wakes up moves its whole group behind the others.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import functools
import math

from nova_rt.rules import reservation

#: The scale of periods, which covers all periods that can be reserved.
_SHORTEST_US = 1_024
_OCTAVES = math.log2(reservation.MAX_PERIOD_US / _SHORTEST_US)


def level(period_us: int, levels: int) -> int:
    """Returns the level of a period, from 0 (longest) to *levels* - 1.

    The scale is logarithmic and fixed.  So the level of a server depends on
    no other server, and never changes while others come and go.
    """
    octaves = math.log2(max(period_us, _SHORTEST_US) / _SHORTEST_US)
    rank = int(levels * octaves / _OCTAVES)
    return levels - 1 - min(rank, levels - 1)


@dataclasses.dataclass(frozen=True, slots=True)
class FixedPriorities:
    """The rule by which a kernel without EDF runs the servers of a pCPU.

    :ivar levels: the number of priorities that servers are spread over
    :ivar tick_us: the time that a server may run beyond its runtime before
        the kernel notices
    :ivar min_period_us: the shortest period that the kernel keeps
    """

    levels: int
    tick_us: int
    min_period_us: int

    def level(self, period_us: int) -> int:
        """Returns the level of a period; see :func:`level`."""
        return level(period_us, self.levels)

    def holds(self, servers: Sequence[reservation.Reservation]) -> bool:
        """Checks if all *servers* on a pCPU get their runtime in each period.

        The answer holds whatever the servers do and whenever they begin.
        """
        return self.slack_ppm(servers) is not None

    def slack_ppm(self, servers: Sequence[reservation.Reservation]
                  ) -> int | None:
        """Returns the part of its period that each server surely has left.

        The server on the pCPU with the smallest part decides.

        :returns: in ppm of the period; None if a server may not get its
            runtime in its period
        """
        return _slack_ppm(self, tuple(sorted(servers)))

    def response_us(self, server: reservation.Reservation,
                    others: Sequence[reservation.Reservation]
                    ) -> int | None:
        """Returns the time in us in which a server surely gets its runtime.

        :param others: the other servers on the pCPU
        :returns: None if the server may need more time than its period
        """
        if server.period_us < self.min_period_us:
            return None
        time_us, last = 0, -1
        while time_us != last and time_us <= server.period_us:
            last = time_us
            time_us = server.runtime_us + sum(
                self._interference(server, last, others))
        # The kernel must notice that a runtime is used up before it refills
        # the runtime.
        return (time_us if time_us + self.tick_us <= server.period_us
                else None)

    def _interference(self, server: reservation.Reservation, time_us: int,
                      others: Sequence[reservation.Reservation]
                      ) -> Iterator[int]:
        """Yields the us that each of *others* takes in *time_us*."""
        own = self.level(server.period_us)
        for other in others:
            if self.level(other.period_us) >= own:
                jitter = other.period_us - other.runtime_us
                hits = -(-(time_us + jitter) // other.period_us)
                yield max(1, hits) * other.runtime_us + self.tick_us


@functools.lru_cache(maxsize=65536)
def _slack_ppm(rule: FixedPriorities,
               servers: tuple[reservation.Reservation, ...]) -> int | None:
    slack_ppm = reservation.PPM
    for place, server in enumerate(servers):
        others = servers[:place] + servers[place + 1:]
        time_us = rule.response_us(server, others)
        if time_us is None:
            return None
        left_us = server.period_us - time_us - rule.tick_us
        slack_ppm = min(slack_ppm,
                        left_us * reservation.PPM // server.period_us)
    return slack_ppm
