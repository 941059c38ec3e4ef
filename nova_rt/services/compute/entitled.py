# SPDX-License-Identifier: Apache-2.0

"""Computes the entitlements of guests, which the tracker gives the driver."""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from nova.compute import task_states

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.compute import counting


@dataclasses.dataclass(frozen=True, slots=True)
class Entitlement:
    """The claims by which one guest may hold a budget.

    :ivar allowed: the claims of its server that count on this host; during a
        resize there are two, and the guest holds either of them
    :ivar settled: whether Nova no longer works on the guest, so that an audit
        may correct the guest
    """

    allowed: tuple[claims.RTClaim, ...] = ()
    settled: bool = True


def entitlements(known: Mapping[str, Any], host: str, counted: Iterable[Any],
                 starts: bool) -> dict[str, Entitlement]:
    """Returns the entitlement of each server whose claims can all be read.

    :param known: Instances by uuid
    :param host: the name of this host
    :param counted: all claims on this host, as objects.Resource
    :param starts: whether nova-compute is starting, so that no operation on
        a guest is under way
    """
    by_server: dict[str, list[claims.RTClaim]] = {uuid: [] for uuid in known}
    unread = set()
    for resource in counted:
        try:
            claim = claims.RTClaim.parse(resource.identifier)
        except exception.InvalidClaim:
            unread.add(counting.server_of(resource))
        else:
            by_server.setdefault(claim.instance_uuid, []).append(claim)
    return {
        uuid: Entitlement(tuple(own), _is_settled(
            known[uuid], host, starts) if own else (
                not unread and counting.is_over(known[uuid])))
        for uuid, own in by_server.items()
        if uuid in known and uuid not in unread}


def _is_settled(instance: Any, host: str, starts: bool) -> bool:
    if instance.host != host and (
            instance.task_state == task_states.MIGRATING):
        # libvirt brings the guest, and an event tells when it has started.
        return False
    return starts or not counting.is_resizing(instance)
