# SPDX-License-Identifier: Apache-2.0

"""The servers that are watched, and their numbers in the programs.

The programs have room for a limited number of servers and vCPUs.  All servers
beyond these bounds are counted together, as ``other``.
"""

from collections import deque
from collections.abc import Iterable, Mapping
import dataclasses
import struct

#: The bounds of ``programs/lanes.h``, without the host and ``other``.
SERVERS, LANES = 256, 1022
HOST, OTHER = 0, 1
OTHER_NAME = 'other'
#: Stands for a vCPU where a group belongs to the whole server.
WHOLE = -1

_KEY = struct.Struct('=Q')
_VALUE = struct.Struct('=II')


@dataclasses.dataclass(frozen=True, slots=True)
class Granted:
    """The runtime and period that the kernel grants each vCPU, in us.

    :ivar of_group: whether a control group holds the budget; if not, each
        thread holds one
    """

    runtime_us: int
    period_us: int
    of_group: bool = False

    @property
    def share(self) -> float:
        """Runtime divided by period."""
        return self.runtime_us / self.period_us


@dataclasses.dataclass(frozen=True)
class Watched:
    """A server that runs on this host.

    :ivar uuid: the UUID of the server in Nova, which is its label in metrics
    :ivar groups: the numbers of its control groups by vCPU, and the number of
        the domain's group by WHOLE.  A task in a group below one of these
        belongs to the server, too.
    :ivar vcpus: the number of its vCPUs; 0: unknown
    :ivar name: its name; '': unknown
    :ivar project: its project; '': unknown
    :ivar flavor: the name of its flavor; '': unknown
    :ivar addresses: its fixed and floating addresses, from the metadata that
        Nova gave libvirt
    :ivar taps: the numbers of its network interfaces on this host
    :ivar sockets: whether its sockets are in the kernel of this host, as those
        of a container are
    :ivar vnf: the VNF that it belongs to, as Tacker names it; '': unknown
    """

    uuid: str
    groups: Mapping[int, int]
    vcpus: int = 0
    name: str = ''
    project: str = ''
    flavor: str = ''
    reservation: Granted | None = None
    addresses: tuple[str, ...] = ()
    taps: tuple[int, ...] = ()
    sockets: bool = True
    vnf: str = ''

    @property
    def reserved_cpus(self) -> float | None:
        """The CPUs that are reserved for all vCPUs; None: no reservation."""
        if self.reservation is None:
            return None
        vcpus = self.vcpus or max(1, len(self.groups) - 1)
        return self.reservation.share * vcpus


def has_group_budget(server: Watched) -> bool:
    """Returns whether a control group holds the budget of a server.

    Not every kernel shows when such a budget runs out.
    """
    return server.reservation is not None and server.reservation.of_group


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The numbers of a server in the programs.

    :ivar index: the index of the counts of the whole server
    :ivar lanes: the lane of each vCPU
    """

    index: int
    lanes: Mapping[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """The difference between two lists of servers.

    :ivar put: the values to set in the programs' map of groups, by key
    :ivar remove: the keys to remove from this map
    :ivar servers: the indexes whose counts start from 0
    :ivar lanes: the lanes whose counts start from 0
    """

    put: Mapping[bytes, bytes]
    remove: tuple[bytes, ...]
    servers: tuple[int, ...]
    lanes: tuple[int, ...]


class Register:
    """Assigns numbers to servers.

    A freed number is reused as late as possible, because the programs may
    count a task a moment after its end.
    """

    def __init__(self) -> None:
        self._free = deque(range(OTHER + 1, OTHER + 1 + SERVERS))
        self._free_lanes = deque(range(OTHER + 1, OTHER + 1 + LANES))
        self._groups: dict[int, tuple[int, int]] = {}
        self.places: dict[str, Place] = {}
        self.servers: dict[str, Watched] = {}
        #: The number of a server's place, in the order of assignment.
        self.begun: dict[str, int] = {}
        self._given = 0
        #: The number of servers that are counted as ``other``.
        self.beyond = 0

    def update(self, running: Iterable[Watched]) -> Change:
        """Replaces the list of servers and returns what has changed."""
        self.servers = {server.uuid: server for server in running}
        for uuid in [*self.places]:
            if (uuid not in self.servers or self.places[uuid].lanes.keys()
                    != self.servers[uuid].groups.keys()):
                self._give_back(self.places.pop(uuid))
                del self.begun[uuid]
        new = [uuid for uuid in self.servers if uuid not in self.places]
        places = [self._place(uuid) for uuid in new]
        self.beyond = places.count(None)
        wanted = dict(self._wanted())
        put = {_KEY.pack(group): _VALUE.pack(*numbers)
               for group, numbers in wanted.items()
               if self._groups.get(group) != numbers}
        remove = tuple(_KEY.pack(group)
                       for group in self._groups.keys() - wanted.keys())
        self._groups = wanted
        started = [place for place in places if place]
        return Change(put, remove, tuple(place.index for place in started),
                      tuple(lane for place in started
                            for lane in place.lanes.values()))

    @property
    def shown(self) -> dict[str, Place]:
        """The places of all servers; those beyond the bounds as ``other``."""
        if not self.beyond:
            return self.places
        return {**self.places, OTHER_NAME: Place(OTHER, {WHOLE: OTHER})}

    def _wanted(self) -> Iterable[tuple[int, tuple[int, int]]]:
        for uuid, server in self.servers.items():
            place = self.places.get(uuid)
            for vcpu, group in server.groups.items():
                yield group, ((place.lanes[vcpu], place.index) if place
                              else (OTHER, OTHER))

    def _place(self, uuid: str) -> Place | None:
        vcpus = self.servers[uuid].groups
        if not self._free or len(self._free_lanes) < len(vcpus):
            return None
        place = Place(self._free.popleft(), {
            vcpu: self._free_lanes.popleft() for vcpu in vcpus})
        self._given += 1
        self.places[uuid], self.begun[uuid] = place, self._given
        return place

    def _give_back(self, place: Place) -> None:
        self._free.append(place.index)
        self._free_lanes.extend(place.lanes.values())
