# SPDX-License-Identifier: Apache-2.0

"""Logs the claims that a host has lost, and the servers that arrived."""

from collections.abc import Iterable
import contextlib
from typing import Any

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services import events


def released(before: Iterable[Any], after: Iterable[Any]) -> None:
    """Logs the claims that no longer count.

    :param before: objects.Resource of the claims that counted
    :param after: objects.Resource of the claims that count now
    """
    for resource in sorted(set(before) - set(after),
                           key=lambda each: str(each.identifier)):
        with contextlib.suppress(exception.InvalidClaim):
            events.released(claims.RTClaim.parse(resource.identifier))


def moved(instance: Any, how: str) -> None:
    """Logs that a server has come to this host, if it has a reservation.

    :param how: one of events.HOW
    """
    with contextlib.suppress(exception.InvalidClaim):
        claim = (claims.instance_claim(instance) if how != events.COLD
                 else claims.destination_claim(instance))
        if claim is not None:
            events.moved(claim, how)
