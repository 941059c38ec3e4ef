# SPDX-License-Identifier: Apache-2.0

"""What is compared: one look at a cloud, as plain data.

Loaded by ``rt_operate.manage.read.load``, compared by
``rt_operate.manage.compare.differences``.
"""

from collections.abc import Mapping
import dataclasses
import enum

from nova_rt.machine.kernel import base
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims as rt_claims


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """What a server asks for on a host, and holds there.

    A server that was resized and not confirmed has two: the new one, and the
    old one that a revert would need.

    :ivar consumer: whose allocation pays for it: the server, or for the old
        one the migration
    :ivar wanted: by flavor and hints, None for no reservation
    :ivar claims: normally one, or none without a reservation
    :ivar providers: the resource providers that the claims name
    :ivar unreadable: texts in the place of a claim
    :ivar trouble: why what it asks for makes no sense
    :ivar moving: Nova is at work on the server, so that it is not compared
    """

    server: str
    consumer: str
    vcpus: int
    wanted: reservation.Reservation | None
    claims: tuple[rt_claims.RTClaim, ...] = ()
    providers: frozenset[str] = frozenset()
    unreadable: tuple[str, ...] = ()
    trouble: str = ''
    moving: bool = False

    @property
    def current(self) -> bool:
        """Whether it is what the server runs with."""
        return self.consumer == self.server


class Fate(enum.Enum):
    """What became of a consumer that has an allocation on another host."""

    EXPECTED = 'its allocation is in order'
    GONE = 'there is no such server or migration any more'
    ELSEWHERE = 'there is one, and it is not on this host'


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """A group of a running guest that holds its budget, or should.

    :ivar wanted: by the claim, None for no budget
    """

    group: str
    wanted: base.Budget | None
    held: base.Budget | None


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """The budgets of one host.

    :ivar replicated: a runtime is granted on every pCPU
    :ivar guests: of Nova that run, by the server
    :ivar strays: ppm of the groups of nobody, by their path
    :ivar room: ppm held beyond what the groups below do, by path
    """

    replicated: bool
    guests: Mapping[str, tuple[Leaf, ...]]
    strays: Mapping[str, int] = dataclasses.field(default_factory=dict)
    room: Mapping[str, int] = dataclasses.field(default_factory=dict)


#: By resource class.
Amounts = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A compute node.

    :ivar provider: its uuid, which is that of its root provider
    :ivar published: the map in its stats, None without the plugin
    :ivar allocations: of every class, by consumer; None where Placement has
        no such provider
    :ivar inventories: of our classes
    :ivar fates: of consumers that are not among the holdings
    :ivar kernel: None where it is not looked at
    """

    name: str
    provider: str
    published: hostmap.HostMap | None
    holdings: tuple[Holding, ...] = ()
    allocations: Mapping[str, Amounts] | None = None
    inventories: Mapping[str, Mapping[str, float]] = dataclasses.field(
        default_factory=dict)
    fates: Mapping[str, Fate] = dataclasses.field(default_factory=dict)
    kernel: Kernel | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor of the cloud."""

    name: str
    extra_specs: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Suspect:
    """A flavor that looks meant to be reserved, and is not.

    :ivar remedy: what to do
    """

    flavor: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f'flavor {self.flavor}: {self.found}; to do: {self.remedy}'


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """Amounts that a consumer should have at a provider, no more, no less."""

    consumer: str
    provider: str
    amounts: tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Between two of claims, Placement and kernel.

    :ivar kind: what differs, for programs
    :ivar server: or another consumer, or ''
    :ivar remedy: what to do
    :ivar repair: what ``heal`` does about it, None where it cannot help
    """

    kind: str
    host: str
    server: str
    found: str
    wanted: str
    remedy: str
    repair: Repair | None = None

    def __str__(self) -> str:
        who = f' server {self.server}:' if self.server else ''
        return (f'{self.host}:{who} {self.found}; should be: {self.wanted}; '
                f'to do: {self.remedy}')
