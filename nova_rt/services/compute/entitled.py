# SPDX-License-Identifier: Apache-2.0

"""What the guests of a host may have: the tracker says it to the driver."""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from nova.compute import task_states

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.compute import kept


@dataclasses.dataclass(frozen=True, slots=True)
class Entitlement:
    """What one guest may have.

    :ivar held: those that count; the guest holds one of them, between
        the claims of a resize whichever Nova has come to
    :ivar settled: whether Nova has left the guest to itself, so that it may
        be corrected
    """

    held: tuple[claims.RTClaim, ...] = ()
    settled: bool = True


def of_servers(known: Mapping[str, Any], host: str, counted: Iterable[Any],
               starts: bool) -> dict[str, Entitlement]:
    """The entitlement of each server whose claims can all be read.

    :param known: Instances by uuid
    :param host: the name of this host
    :param counted: all claims here, as objects.Resource
    :param starts: whether nova-compute just starts: what it was doing to
        its guests has ended
    """
    found: dict[str, list[claims.RTClaim]] = {uuid: [] for uuid in known}
    unread = set()
    for each in counted:
        try:
            claim = claims.RTClaim.parse(each.identifier)
        except exception.InvalidClaim:
            unread.add(kept.server_of(each))
        else:
            found.setdefault(claim.instance_uuid, []).append(claim)
    return {
        uuid: Entitlement(tuple(own), _is_settled(
            known[uuid], host, starts) if own else (
                not unread and kept.is_over(known[uuid])))
        for uuid, own in found.items() if uuid in known and uuid not in unread}


def _is_settled(instance: Any, host: str, starts: bool) -> bool:
    if instance.host != host and (
            instance.task_state == task_states.MIGRATING):
        return False  # libvirt brings it; its start is told by an event
    return starts or not kept.is_resizing(instance)
