# SPDX-License-Identifier: Apache-2.0

"""The servers that are watched, and the numbers the programs know them by.

The programs have room for so many servers and vCPUs; what comes beyond is
counted together, as ``other``.
"""

from collections import deque
from collections.abc import Iterable, Mapping
import dataclasses
import struct

#: As ``programs/lanes.h`` has them, without the host's own and ``other``.
SERVERS, LANES = 256, 1022
HOST, OTHER = 0, 1
OTHER_NAME = 'other'
#: The vCPU of what belongs to a server and to no vCPU of it.
WHOLE = -1

_KEY = struct.Struct('=Q')
_VALUE = struct.Struct('=II')


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """What the kernel grants each vCPU of a server, in us.

    :ivar of_group: the budget is its control group's, not its threads'
    """

    runtime_us: int
    period_us: int
    of_group: bool = False

    @property
    def share(self) -> float:
        return self.runtime_us / self.period_us


@dataclasses.dataclass(frozen=True)
class Server:
    """A server that runs on this host.

    :ivar uuid: Nova's; what labels have
    :ivar groups: the numbers of its control groups by vCPU, the domain's by
        WHOLE; what is in a group below belongs to it too
    :ivar vcpus: how many it has, 0 where nobody tells
    :ivar name, project, flavor: as people call them; '' where nobody tells
    :ivar addresses: fixed and floating ones, as Nova has told libvirt
    :ivar taps: the numbers of its network interfaces on this host
    :ivar sockets: they are this host's, as a container's are
    :ivar vnf: that it belongs to, as Tacker calls it; '' where nobody tells
    """

    uuid: str
    groups: Mapping[int, int]
    vcpus: int = 0
    name: str = ''
    project: str = ''
    flavor: str = ''
    reservation: Reservation | None = None
    addresses: tuple[str, ...] = ()
    taps: tuple[int, ...] = ()
    sockets: bool = True
    vnf: str = ''

    @property
    def reserved_cpus(self) -> float | None:
        """The CPUs that all its vCPUs have reserved; None for none."""
        if self.reservation is None:
            return None
        vcpus = self.vcpus or max(1, len(self.groups) - 1)
        return self.reservation.share * vcpus


def has_group_budget(server: Server) -> bool:
    """Whether it has a budget that not every kernel shows."""
    return server.reservation is not None and server.reservation.of_group


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The numbers of a server.

    :ivar index: of what the server counts as a whole
    :ivar lanes: by vCPU
    """

    index: int
    lanes: Mapping[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What is different since the last time.

    :ivar put: value by key of the programs' map of groups
    :ivar remove: keys of that map
    :ivar servers: indexes that start anew
    :ivar lanes: lanes that start anew
    """

    put: Mapping[bytes, bytes]
    remove: tuple[bytes, ...]
    servers: tuple[int, ...]
    lanes: tuple[int, ...]


class Register:
    """Which server has which numbers.

    Numbers given back are used again as late as possible: a task that ends
    is counted a moment later.
    """

    def __init__(self) -> None:
        self._free = deque(range(OTHER + 1, OTHER + 1 + SERVERS))
        self._free_lanes = deque(range(OTHER + 1, OTHER + 1 + LANES))
        self._groups: dict[int, tuple[int, int]] = {}
        self.places: dict[str, Place] = {}
        self.servers: dict[str, Server] = {}
        #: Which place it is that a server has, of all that were given.
        self.begun: dict[str, int] = {}
        self._given = 0
        #: How many servers are counted as ``other``.
        self.beyond = 0

    def update(self, found: Iterable[Server]) -> Change:
        """Take these for the servers that there are."""
        self.servers = {server.uuid: server for server in found}
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
        """The places of all servers, and of ``other`` where there is any."""
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
