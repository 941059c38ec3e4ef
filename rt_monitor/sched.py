# SPDX-License-Identifier: Apache-2.0

"""The programs at the scheduler, from their object to numbers of servers."""

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
import struct

from rt_monitor import histogram
from rt_monitor import objects
from rt_monitor import servers as monitor_servers
from rt_monitor import waits

#: ``struct cpu``: since, lane, server, pid, known, unseen, budgets.
_CPU = struct.Struct('=QIIiIQQ')
#: The lane of tasks that are no server's.
_HOST = 0
#: Arrays of the programs, by lane and by server.
_TOTALS, _HISTOGRAMS = 'totals', ('waits', 'uses')


@dataclasses.dataclass(frozen=True)
class Seen:
    """A server at the scheduler.

    :ivar whole: all of it
    :ivar vcpus: its vCPUs, where each has a control group; without waits
        and uses, which only servers have
    """

    whole: waits.Usage
    vcpus: Mapping[int, waits.Usage]

    def since(self, before: 'Seen') -> 'Seen':
        """What came after an earlier look."""
        none = waits.Usage()
        return Seen(self.whole.since(before.whole), {
            vcpu: usage.since(before.vcpus.get(vcpu, none))
            for vcpu, usage in self.vcpus.items()})


class Scheduler(objects.Source):
    """What servers use and wait for, from now on."""

    name = 'sched'

    def __init__(self) -> None:
        super().__init__()
        self._counts = self.object.map('counts', per_cpu=True)
        self._cpus = self.object.map('cpus', per_cpu=True)
        self._arrays = {name: self.object.map(name)
                        for name in (_TOTALS, *_HISTOGRAMS)}

    def forget(self, change: monitor_servers.Change) -> None:
        for lane in change.lanes:
            self._counts.clear(objects.key(lane))
            self._arrays[_TOTALS].clear(objects.key(lane))
        for server in change.servers:
            for name in _HISTOGRAMS:
                self._arrays[name].clear(objects.key(server))

    def begin(self) -> None:
        # What they have used until now is not counted.
        self.object.walk('iter/task')

    def read(self, register: monitor_servers.Register) -> dict[str, Seen]:
        """All servers by their UUID, and ``other`` where there is any."""
        self._flush()
        self.object.walk('iter/task')
        found = {name: objects.by_number(values)
                 for name, values in self._arrays.items()}
        return {uuid: self._seen(place, found)
                for uuid, place in register.shown.items()}

    def unseen(self) -> int:
        """Switches of tasks that the kernel sent no event for."""
        return sum(unseen for *_, unseen, _ in self._of_cpus())

    def sees_budgets(self) -> bool:
        """Whether those of groups are seen to run out, on this kernel."""
        self._flush()
        return any(budgets for *_, budgets in self._of_cpus())

    def host(self) -> Mapping[int, waits.Counts]:
        """What was seen of tasks that are no server's, on each CPU."""
        return self._cpus_of(_HOST)

    def _flush(self) -> None:
        for cpu in range(self._cpus.width):
            with contextlib.suppress(OSError):  # offline
                self.object.run('flush', cpu)

    def _of_cpus(self) -> Iterator[tuple[int, ...]]:
        return _CPU.iter_unpack(self._cpus.get(objects.key(0)) or b'')

    def _seen(self, place: monitor_servers.Place,
              found: Mapping[str, Mapping[int, bytes]]) -> Seen:
        """A server, from what the arrays have."""
        lanes = {vcpu: waits.Usage(
            waits.Totals.decode(found[_TOTALS][lane]), self._cpus_of(lane))
            for vcpu, lane in place.lanes.items()}
        shared = waits.Usage(waits.Totals(), {}, *(
            histogram.Histogram.decode(found[name][place.index])
            for name in _HISTOGRAMS))
        return Seen(sum(lanes.values(), shared), {
            vcpu: usage for vcpu, usage in lanes.items()
            if vcpu != monitor_servers.WHOLE})

    def _cpus_of(self, lane: int) -> dict[int, waits.Counts]:
        data = self._counts.get(objects.key(lane)) or b''
        return {cpu: found for cpu, found in enumerate(waits.by_cpu(data))
                if found.ran or found.last}
