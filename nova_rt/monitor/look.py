# SPDX-License-Identifier: Apache-2.0

"""One look at all servers of this host, by all sources that it has."""

from collections.abc import Iterable, Mapping
import dataclasses
import time

from nova_rt import exception
from nova_rt.monitor import sched
from nova_rt.monitor import servers as monitor_servers

SCHEDULER = 'sched'
BUILD = ('its programs are not compiled; install clang and libbpf-dev, and '
         'run nova_rt/monitor/programs/build.sh')


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Where numbers come from.

    :ivar reason: why it is off, '' where it is on
    """

    name: str
    reason: str = ''

    @property
    def state(self) -> str:
        return 'off' if self.reason else 'on'


@dataclasses.dataclass(frozen=True)
class Look:
    """What was seen, from the beginning or since an earlier look.

    :ivar at_s: on the monotonic clock
    :ivar span_s: how long the numbers are the sum of
    :ivar seen: by UUID, and ``other`` for those beyond the bounds
    :ivar beyond: how many those are
    :ivar unseen: switches of tasks that no event was sent for
    """

    at_s: float
    span_s: float
    sources: tuple[Source, ...]
    servers: Mapping[str, monitor_servers.Server]
    seen: Mapping[str, sched.Seen]
    beyond: int = 0
    unseen: int = 0

    def since(self, before: 'Look') -> 'Look':
        """What came after an earlier look."""
        return dataclasses.replace(
            self, span_s=self.at_s - before.at_s,
            unseen=self.unseen - before.unseen,
            seen={uuid: found.since(before.seen[uuid])
                  if uuid in before.seen else found
                  for uuid, found in self.seen.items()})


class Monitor:
    """All sources of this host; those it lacks say why."""

    def __init__(self) -> None:
        self._begun_s = time.monotonic()
        self._scheduler: sched.Scheduler | None = None
        self.sources = (self._start_scheduler(),)

    def _start_scheduler(self) -> Source:
        if not sched.object_path(SCHEDULER).exists():
            return Source(SCHEDULER, BUILD)
        try:
            self._scheduler = sched.Scheduler()
        except exception.CannotMonitor as error:
            return Source(SCHEDULER, error.kwargs['reason'])
        return Source(SCHEDULER)

    @property
    def register(self) -> monitor_servers.Register | None:
        return self._scheduler.register if self._scheduler else None

    def watch(self, servers: Iterable[monitor_servers.Server]) -> None:
        """Watch these servers, and no others."""
        if self._scheduler:
            self._scheduler.watch(servers)

    def look(self) -> Look:
        now = time.monotonic()
        span = now - self._begun_s
        if self._scheduler is None:
            return Look(now, span, self.sources, {}, {})
        seen = self._scheduler.read()
        register = self._scheduler.register
        return Look(now, span, self.sources, dict(register.servers), seen,
                    register.beyond, self._scheduler.unseen())

    def close(self) -> None:
        """Take all programs out of the kernel."""
        if self._scheduler:
            self._scheduler.close()
            self._scheduler = None
