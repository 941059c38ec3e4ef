# SPDX-License-Identifier: Apache-2.0

"""The programs at the scheduler, from their object to numbers of servers."""

from collections.abc import Iterable, Mapping
import contextlib
import dataclasses
import pathlib
import struct

from nova_rt.monitor import histogram
from nova_rt.monitor import libbpf
from nova_rt.monitor import servers as monitor_servers
from nova_rt.monitor import waits

_PROGRAMS = pathlib.Path(__file__).parent / 'programs'
_INDEX = struct.Struct('=I')
#: ``struct cpu``: since, lane, server, pid, known, unseen.
_CPU = struct.Struct('=QIIiIQ')


def object_path(name: str) -> pathlib.Path:
    """Where the compiled programs of a source are."""
    return _PROGRAMS / f'{name}.bpf.o'


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


class Scheduler:
    """What servers use and wait for, from now on."""

    def __init__(self) -> None:
        """Load and attach the programs.

        :raises CannotMonitor: this host cannot
        """
        self._object = libbpf.Object(str(object_path('sched')))
        self._object.attach()
        self._groups = self._object.map('groups')
        self._counts = self._object.map('counts', per_cpu=True)
        self._totals = self._object.map('totals')
        self._cpus = self._object.map('cpus', per_cpu=True)
        self._histograms = {name: self._object.map(name)
                            for name in ('waits', 'uses')}
        self.register = monitor_servers.Register()

    def close(self) -> None:
        self._object.close()

    def watch(self, servers: Iterable[monitor_servers.Server]) -> None:
        """Watch these servers, and no others."""
        change = self.register.update(servers)
        for key in change.remove:
            self._groups.remove(key)
        for lane in change.lanes:
            self._counts.clear(_INDEX.pack(lane))
            self._totals.clear(_INDEX.pack(lane))
        for server in change.servers:
            for each in self._histograms.values():
                each.clear(_INDEX.pack(server))
        for key, value in change.put.items():
            self._groups.put(key, value)
        if change.put:
            # What they have used until now is not counted.
            self._object.walk('iter/task')

    def read(self) -> dict[str, Seen]:
        """All servers by their UUID, and ``other`` where there is any."""
        for cpu in range(self._cpus.width):
            with contextlib.suppress(OSError):  # offline
                self._object.run('flush', cpu)
        self._object.walk('iter/task')
        found = {uuid: self._seen(place)
                 for uuid, place in self.register.places.items()}
        if self.register.beyond:
            other = monitor_servers.Place(monitor_servers.OTHER, {
                monitor_servers.WHOLE: monitor_servers.OTHER})
            found[monitor_servers.OTHER_NAME] = self._seen(other)
        return found

    def unseen(self) -> int:
        """Switches of tasks that the kernel sent no event for."""
        data = self._cpus.get(_INDEX.pack(0)) or b''
        return sum(fields[-1] for fields in _CPU.iter_unpack(data))

    def _seen(self, place: monitor_servers.Place) -> Seen:
        lanes = {vcpu: self._lane(lane)
                 for vcpu, lane in place.lanes.items()}
        shared = waits.Usage(waits=self._histogram('waits', place.index),
                             uses=self._histogram('uses', place.index))
        return Seen(sum(lanes.values(), shared), {
            vcpu: usage for vcpu, usage in lanes.items()
            if vcpu != monitor_servers.WHOLE})

    def _lane(self, lane: int) -> waits.Usage:
        key = _INDEX.pack(lane)
        counts = enumerate(waits.by_cpu(self._counts.get(key) or b''))
        totals = self._totals.get(key)
        return waits.Usage(
            waits.Totals.decode(totals) if totals else waits.Totals(),
            {cpu: found for cpu, found in counts if found.last})

    def _histogram(self, name: str, server: int) -> histogram.Histogram:
        data = self._histograms[name].get(_INDEX.pack(server))
        return histogram.Histogram.decode(data or bytes(histogram.SIZE))
