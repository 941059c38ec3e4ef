# SPDX-License-Identifier: Apache-2.0

"""A claim: the pCPUs of a host that a server got, and its reservation.

This module defines the text form of a claim.  The text is the identifier of
an ``objects.Resource`` in ``Instance.resources``, so that Nova itself carries
the claim through migrations, confirm, revert, abort and the periodic audit.

The form has no version number.  A reader accepts a text completely or not at
all, because a part that it skipped could make the claim larger.  In the text,
"-" among the pCPUs stands for a vCPU without a reservation.  Versions of
nova-rt that do not know "-" refuse such claims, and read all others.  The same
holds for ";soft" at the end of a claim with a soft reservation, and for ";k="
with a number before it, if the kernel gets a divided reservation.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
import dataclasses
import re
from typing import Any, Self

from nova import objects

from nova_rt.rules import change
from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules import division
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation as rt_reservation

_IDENTIFIER = re.compile(
    r'(?P<uuid>[0-9a-f-]{36})/(?P<move>[0-9]+)'
    r';r=(?P<r>[1-9][0-9]*);p=(?P<p>[1-9][0-9]*)'
    r';h=(?P<hr>[0-9]*),(?P<hp>[0-9]*);c=(?P<c>PLACE(,PLACE)*)'
    .replace('PLACE', '(?:-|[0-9]+)')
    + '(?:;k=(?P<k>[2-9]|[1-9][0-9]+))?(?P<soft>;soft)?')
#: The place of a vCPU without a reservation.
_NOWHERE = '-'


@dataclasses.dataclass(frozen=True, slots=True)
class RTClaim:
    """*reservation* on each of *cpus* for one server.

    :ivar cpus: the pCPUs of the vCPUs with a reservation, in the order of
        these vCPUs
    :ivar move: id of the migration that made the claim, 0 for a build; a
        server may hold two claims on a host while it is resized there
    :ivar hints: the part of the reservation that came from hints, by key;
        nova-compute stores these values nowhere else
    :ivar unreserved: the indices of the vCPUs without a reservation,
        ascending
    :ivar soft: whether the vCPUs may get more than *reservation*, see
        rules.soft
    :ivar divisor: the number by which runtime and period are divided for the
        kernel, see rules.division
    """

    instance_uuid: str
    move: int
    reservation: rt_reservation.Reservation
    cpus: tuple[int, ...]
    hints: Mapping[str, int] = dataclasses.field(default_factory=dict)
    unreserved: tuple[int, ...] = ()
    soft: bool = False
    divisor: int = 1

    @property
    def in_kernel(self) -> rt_reservation.Reservation:
        """The reservation that the kernel gets for each vCPU."""
        return division.divided(self.reservation, self.divisor)

    @property
    def places(self) -> tuple[int | None, ...]:
        """The pCPU of each vCPU; None for a vCPU without a reservation."""
        cpus = iter(self.cpus)
        return tuple(
            None if vcpu in self.unreserved else next(cpus)
            for vcpu in range(len(self.cpus) + len(self.unreserved)))

    @property
    def by_vcpu(self) -> dict[int, int]:
        """The pCPU of each vCPU with a reservation."""
        return {vcpu: cpu for vcpu, cpu in enumerate(self.places)
                if cpu is not None}

    @property
    def identifier(self) -> str:
        """The text form, which is unique for the server and the move."""
        hints = ','.join(str(self.hints.get(key, ''))
                         for key in rt_reservation.KEYS)
        places = ','.join(_NOWHERE if cpu is None else str(cpu)
                          for cpu in self.places)
        divisor = f';k={self.divisor}' * (self.divisor > 1)
        return (f'{self.instance_uuid}/{self.move}'
                f';r={self.reservation.runtime_us}'
                f';p={self.reservation.period_us}'
                f';h={hints};c={places}{divisor}' + ';soft' * self.soft)

    @classmethod
    def parse(cls, identifier: str) -> Self:
        """Returns the claim of an identifier.

        :raises InvalidClaim: when the identifier has another form
        """
        match = _IDENTIFIER.fullmatch(identifier)
        places = match['c'].split(',') if match else []
        if match is None or set(places) == {_NOWHERE}:
            raise exception.InvalidClaim(
                identifier=identifier, reason='this version of nova-rt does '
                'not know the form of the claim')
        hints = zip(rt_reservation.KEYS, (match['hr'], match['hp']),
                    strict=True)
        return cls(
            match['uuid'], int(match['move']),
            rt_reservation.Reservation(int(match['r']), int(match['p'])),
            tuple(int(place) for place in places if place != _NOWHERE),
            {key: int(text) for key, text in hints if text},
            tuple(vcpu for vcpu, place in enumerate(places)
                  if place == _NOWHERE), bool(match['soft']),
            int(match['k'] or 1))

    def to_resource(self, provider_uuid: str) -> Any:
        """Returns the claim as a resource of the compute's root provider."""
        return objects.Resource(
            provider_uuid=provider_uuid,
            resource_class=hostmap.RESOURCE_CLASS,
            identifier=self.identifier)


def parse_resources(resources: Iterable[Any] | None) -> list[RTClaim]:
    """Returns the claims among objects.Resource of any class.

    :raises InvalidClaim: when a claim cannot be read
    """
    return [RTClaim.parse(resource.identifier)
            for resource in resources or ()
            if resource.resource_class == hostmap.RESOURCE_CLASS]


def counted(host_claims: Iterable[RTClaim], state: rt_cpus.CpuBandwidth
            ) -> Iterator[rt_cpus.Claim]:
    """Yields what claims take from the pCPUs of their host.

    A server that is being resized on its host has two claims there, and runs
    with one of them.

    :param state: any state of the host; with fixed priorities all claims
        count, because the smaller of two may be the one that does not fit
    """
    by_server: dict[str, list[rt_cpus.Claim]] = {}
    for claim in host_claims:
        by_server.setdefault(claim.instance_uuid, []).append(
            (claim.cpus, claim.in_kernel))
    for own in by_server.values():
        yield from own if state.rule is not None else change.larger(
            own, state.replicated)


def instance_claim(instance: Any) -> RTClaim | None:
    """Returns the claim of a server, without that of a move under way.

    :raises InvalidClaim: when the claim cannot be read
    """
    own = parse_resources(instance.resources)
    return own[0] if own else None


def destination_claim(instance: Any) -> RTClaim | None:
    """Returns the claim on the host that a server is being moved to.

    :raises InvalidClaim: when the claim cannot be read
    """
    context = instance.migration_context
    own = parse_resources(context.new_resources if context else None)
    return own[0] if own else None


def on_host(instance: Any, host: str, providers: Collection[str]
            ) -> RTClaim | None:
    """Returns the claim of a server on one host, even if a move made it.

    :param providers: uuids of the compute nodes of the host
    :raises InvalidClaim: when a claim cannot be read
    """
    own = parse_resources(instance.resources)
    if instance.host == host and not own:
        return None  # The server was resized here to a flavor without one.
    context = instance.migration_context
    lists = [instance.resources]
    if context is not None:
        lists += [context.new_resources, context.old_resources]
    for resources in lists:
        here = parse_resources(resource for resource in resources or ()
                               if resource.provider_uuid in providers)
        if here:
            return here[0]
    return None
