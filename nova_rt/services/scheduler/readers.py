# SPDX-License-Identifier: Apache-2.0

"""Keeps resized servers off hosts that cannot read their claims.

nova-compute of the destination reads the present claim of the server.  An
older version of nova-rt refuses a claim with a mask, whatever the new flavor
is, and the server would be refused there each time.  RTShareFilter cannot see
the present claim in the new flavor.
"""

from collections.abc import Iterable
import contextlib
from typing import Any

from nova import context as nova_context
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.scheduler import host_state
from nova_rt.services.scheduler import request
from nova_rt.services import servers

LOG = logging.getLogger(__name__)

#: A hint in the scheduler's own copy of the request.
_HINT = '_nova_rt_masked'


def note(spec: Any) -> None:
    """Notes whether a server that is resized holds a claim with a mask.

    nova-api sets ignore_hosts in resizes and migrations, and nowhere else.

    :param spec: a request; only the scheduler's copy is changed
    """
    hints = {key: value for key, value in request.hints(spec).items()
             if key != _HINT}
    if _is_masked(spec):
        hints |= {_HINT: ['yes']}
    elif _HINT not in request.hints(spec):
        return  # A tenant may have written the hint.
    spec.scheduler_hints = hints


def _is_masked(spec: Any) -> bool:
    if 'ignore_hosts' not in spec or spec.ignore_hosts is None:
        return False
    server = servers.find(nova_context.get_admin_context(),
                          spec.instance_uuid)
    claim = None
    # nova-compute reports a claim that cannot be read.
    with contextlib.suppress(exception.InvalidClaim):
        claim = claims.instance_claim(server) if server else None
    return claim is not None and bool(claim.unreserved)


def able(hosts: Iterable[Any], spec: Any) -> Iterable[Any]:
    """Returns the hosts that can read the present claim of a server.

    A host without nova-rt reads no claims, and stays in the result.
    """
    if _HINT not in request.hints(spec):
        return hosts
    every = list(hosts)
    unable = [host for host in every
              if (host_map := host_state.map_of(host)) is not None
              and not host_map.reads_masks]
    if unable:
        LOG.info('The server holds a CPU reservation with a mask, which an '
                 'older nova-rt cannot read: no resize to %s.',
                 ', '.join(host.host for host in unable),
                 instance_uuid=spec.instance_uuid)
    return [host for host in every if host not in unable]
