# SPDX-License-Identifier: Apache-2.0

"""The source that watches the scheduler: loads programs, reads counts."""

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
#: The lane of tasks that do not belong to a server.
_HOST = 0
#: The array of the programs by lane, and those by server.
_TOTALS, _HISTOGRAMS = 'totals', ('waits', 'uses')


@dataclasses.dataclass(frozen=True)
class ServerUsage:
    """The scheduling of a server.

    :ivar whole: the counts of the whole server
    :ivar vcpus: the counts of its vCPUs, where each vCPU has a control group;
        without waits and uses, which are counted only for a whole server
    """

    whole: waits.Usage
    vcpus: Mapping[int, waits.Usage]

    @property
    def vcpus_ns(self) -> int:
        """The CPU time of the vCPUs, which the reservation is for, in ns.

        If the vCPUs have no control groups, this is the CPU time of all tasks.
        """
        if not self.vcpus:
            return self.whole.totals.ran
        return sum(usage.totals.ran for usage in self.vcpus.values())

    @property
    def emulator_ns(self) -> int | None:
        """The CPU time of emulator, I/O, vhost and KVM threads, in ns.

        None if the vCPUs have no control groups.
        """
        if not self.vcpus:
            return None
        return self.whole.totals.ran - self.vcpus_ns

    def since(self, before: 'ServerUsage') -> 'ServerUsage':
        """Returns the counts since an earlier snapshot."""
        none = waits.Usage()
        return ServerUsage(self.whole.since(before.whole), {
            vcpu: usage.since(before.vcpus.get(vcpu, none))
            for vcpu, usage in self.vcpus.items()})


class Scheduler(objects.ProgramSource):
    """CPU time, waiting and budgets of servers, counted from now on."""

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
        # What the tasks have used until now is read first, and is not counted.
        self.object.walk('iter/task')

    def read(self, register: monitor_servers.Register
             ) -> dict[str, ServerUsage]:
        """Returns the usage by server UUID, and of ``other`` servers."""
        self._flush()
        self.object.walk('iter/task')
        arrays = {name: objects.by_number(values)
                  for name, values in self._arrays.items()}
        return {uuid: self._server_usage(place, arrays)
                for uuid, place in register.shown.items()}

    def missed_switches(self) -> int:
        """Returns the number of switches without an event of the kernel."""
        return sum(unseen for *_, unseen, _ in self._cpu_values())

    def sees_budgets(self) -> bool:
        """Returns whether the programs see budgets of groups run out."""
        self._flush()
        return any(budgets for *_, budgets in self._cpu_values())

    def host(self) -> Mapping[int, waits.Counts]:
        """Returns the counts of tasks without a server, on each CPU."""
        return self._cpus_of(_HOST)

    def _flush(self) -> None:
        for cpu in range(self._cpus.width):
            with contextlib.suppress(OSError):  # the CPU is offline
                self.object.run('flush', cpu)

    def _cpu_values(self) -> Iterator[tuple[int, ...]]:
        return _CPU.iter_unpack(self._cpus.get(objects.key(0)) or b'')

    def _server_usage(self, place: monitor_servers.Place,
                      arrays: Mapping[str, Mapping[int, bytes]]
                      ) -> ServerUsage:
        """Returns a server from the values of the arrays."""
        lanes = {vcpu: waits.Usage(
            waits.Totals.decode(arrays[_TOTALS][lane]), self._cpus_of(lane))
            for vcpu, lane in place.lanes.items()}
        shared = waits.Usage(waits.Totals(), {}, *(
            histogram.Histogram.decode(arrays[name][place.index])
            for name in _HISTOGRAMS))
        return ServerUsage(sum(lanes.values(), shared), {
            vcpu: usage for vcpu, usage in lanes.items()
            if vcpu != monitor_servers.WHOLE})

    def _cpus_of(self, lane: int) -> dict[int, waits.Counts]:
        data = self._counts.get(objects.key(lane)) or b''
        return {cpu: counts for cpu, counts in enumerate(waits.by_cpu(data))
                if counts.ran or counts.last}
