# SPDX-License-Identifier: Apache-2.0

"""A snapshot of a cloud: plain data that can be compared.

``rt_operate.manage.read.load`` reads the snapshot, and
``rt_operate.manage.compare.differences`` finds its differences.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import enum

from nova_rt.machine.kernel import base
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims as rt_claims


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """The reservation that a server asks for and the claims that it holds.

    A server whose resize is not confirmed has two holdings: the new one, and
    the old one, which a revert would need.

    :ivar consumer: the consumer in Placement whose allocation covers the
        holding: the server, or the migration for the old holding
    :ivar wanted: the reservation by flavor and hints; None without one
    :ivar claims: normally one claim, or none without a reservation
    :ivar providers: the resource providers that the claims name
    :ivar unreadable: texts of claims that cannot be read
    :ivar trouble: why the request is not valid; '' if it is
    :ivar moving: Nova is working on the server, so the holding is not compared
    :ivar unreserved: the vCPUs that the flavor leaves without a reservation
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
    unreserved: tuple[int, ...] = ()

    @property
    def reserved(self) -> int:
        """The number of vCPUs with a reservation, if there is one."""
        return self.vcpus - len(self.unreserved)

    @property
    def current(self) -> bool:
        """Tells whether the server runs with this holding."""
        return self.consumer == self.server


class Fate(enum.Enum):
    """Says what became of a consumer that has an allocation on a host."""

    EXPECTED = 'its allocation is in order'
    GONE = 'the server or migration no longer exists'
    ELSEWHERE = 'the server or migration is not on this host'


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """A group of a running guest that holds its budget, or should hold it.

    :ivar wanted: the budget by the claim; None for no budget
    :ivar budget: the budget in the kernel; None for no budget
    """

    group: str
    wanted: base.Budget | None
    budget: base.Budget | None


@dataclasses.dataclass(frozen=True, slots=True)
class KernelBudgets:
    """The budgets in the kernel of one host.

    :ivar replicated: a runtime is granted on every pCPU
    :ivar guests: the leaves of running guests of Nova, by server
    :ivar strays: ppm of groups that belong to no server, by path
    :ivar room: ppm that groups hold beyond the groups below them, by path
    """

    replicated: bool
    guests: Mapping[str, tuple[Leaf, ...]]
    strays: Mapping[str, int] = dataclasses.field(default_factory=dict)
    room: Mapping[str, int] = dataclasses.field(default_factory=dict)


#: Amounts by resource class.
Amounts = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class HostSnapshot:
    """A compute node.

    :ivar provider: the UUID of the node, which is also the UUID of its root
        provider
    :ivar published: the map in its stats; None without nova-rt on the host
    :ivar allocations: the amounts of every class, by consumer; None if
        Placement has no such provider
    :ivar inventories: the inventories of our classes
    :ivar fates: the fates of consumers that are not among the holdings
    :ivar kernel: None if the kernel was not read
    """

    name: str
    provider: str
    published: hostmap.HostMap | None
    holdings: tuple[Holding, ...] = ()
    allocations: Mapping[str, Amounts] | None = None
    inventories: Mapping[str, Mapping[str, float]] = dataclasses.field(
        default_factory=dict)
    fates: Mapping[str, Fate] = dataclasses.field(default_factory=dict)
    kernel: KernelBudgets | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor of the cloud."""

    name: str
    extra_specs: Mapping[str, str]
    vcpus: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Suspect:
    """A flavor whose reservation is wrong or seems to be missing.

    :ivar found: the reason
    :ivar remedy: what to do
    """

    flavor: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f'flavor {self.flavor}: {self.found}; to do: {self.remedy}'


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """The exact amounts that a consumer should have at a provider."""

    consumer: str
    provider: str
    amounts: tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Removal:
    """The row of a note in Nova's table ``quotas`` that should not exist."""

    row: int
    since: datetime.datetime
    consumer: str


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A difference between claims and Placement, the kernel or a quota.

    :ivar kind: what differs, for programs
    :ivar host: '' for what belongs to no host
    :ivar server: the server, or another consumer, or ''
    :ivar found: the current value
    :ivar wanted: the expected value
    :ivar remedy: what to do
    :ivar repair: the change that ``heal`` makes; None if ``heal`` cannot help
    """

    kind: str
    host: str
    server: str
    found: str
    wanted: str
    remedy: str
    repair: Repair | Removal | None = None

    @property
    def place(self) -> str:
        """The host, or the table of the API database."""
        return self.host or 'quotas'

    def __str__(self) -> str:
        subject = f' server {self.server}:' if self.server else ''
        return (f'{self.place}:{subject} {self.found}; should be: '
                f'{self.wanted}; '
                f'to do: {self.remedy}')
