# SPDX-License-Identifier: Apache-2.0

"""Prefers the present host in a resize that may keep the guest running.

nova-api excludes this host unless ``allow_resize_to_same_host`` is set,
because Nova would restart the guest there.  nova-compute decides whether the
guest stays; see ``nova_rt.services.compute.inplace``.
"""

from collections.abc import Sequence
import contextlib
from typing import Any

from nova.compute import vm_states
from nova import context as nova_context

from nova_rt.rules import change
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import inplace
from nova_rt.services.scheduler import host_state
from nova_rt.services.scheduler import request
from nova_rt.services import servers

#: A hint in the scheduler's own copy of the request: the claim of the server
#: on its host, the name of the host, and '' or whether nova-api excluded it.
_HINT = '_nova_rt_here'
_EXCLUDED = 'excluded'
#: The interface on which a vCPU may leave its pCPU while it runs.
_MOVES = 'sched_deadline'


def forget(spec: Any) -> None:
    """Removes what a tenant may have written in the place of our note."""
    if _HINT in request.hints(spec):
        spec.scheduler_hints = {
            key: value for key, value in spec.scheduler_hints.items()
            if key != _HINT}


def admit(spec: Any) -> None:
    """Makes the present host of a server a candidate, if the guest may stay.

    nova-api sets ignore_hosts in resizes and migrations, and nowhere else.

    :param spec: a request; only the scheduler's copy is changed
    """
    if 'ignore_hosts' not in spec or spec.ignore_hosts is None:
        return
    server = servers.find(nova_context.get_admin_context(),
                          spec.instance_uuid)
    claim = None
    with contextlib.suppress(exception.InvalidClaim):
        claim = claims.instance_claim(server) if _may_stay(
            spec, server) else None
    if claim is None:
        return
    excluded = server.host in spec.ignore_hosts
    spec.ignore_hosts = [host for host in spec.ignore_hosts
                         if host != server.host]
    spec.scheduler_hints = dict(spec.scheduler_hints or {}) | {
        _HINT: [claim.identifier, server.host, _EXCLUDED * excluded]}


def _may_stay(spec: Any, server: Any) -> bool:
    """Checks whether a request is a resize of the reservation only."""
    if server is None or not server.host or (
            server.vm_state != vm_states.ACTIVE):
        return False
    named = spec.requested_destination
    devices = spec.pci_requests and spec.pci_requests.requests
    return (not (named and 'host' in named and named.host)
            and not devices and request.topology_of(spec) is None
            and inplace.only_reservation_differs(server.flavor, spec.flavor))


def here(hosts: Sequence[Any], spec: Any,
         wanted: reservation.Reservation) -> list[Any]:
    """Returns the present host if the guest can stay there, else nothing."""
    identifier, name, _ = _noted(spec)
    return [host for host in hosts if host.host == name and _fits(
        host_state.map_of(host), claims.RTClaim.parse(identifier), wanted)]


def without_excluded(hosts: Sequence[Any], spec: Any) -> list[Any]:
    """Removes the present host of a server, if nova-api excluded this host."""
    _, name, excluded = _noted(spec)
    return [host for host in hosts if not excluded or host.host != name]


def _noted(spec: Any) -> tuple[str, str, str]:
    note = request.hints(spec).get(_HINT)
    claim, host, excluded = note or ('', '', '')
    return claim, host, excluded


def _fits(published: hostmap.HostMap | None, claim: claims.RTClaim,
          wanted: reservation.Reservation) -> bool:
    if published is None or not published.state.cpus:
        return False
    moves = published.state.replicated or published.interface == _MOVES
    try:
        return change.fit(
            published.state, claim.cpus, claim.in_kernel, wanted,
            policies.first_fit, not moves, both=True) is not None
    except ValueError:
        return False  # The host has not published the claim yet.
