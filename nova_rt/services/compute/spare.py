# SPDX-License-Identifier: Apache-2.0

"""Divides the unreserved bandwidth of this host among soft reservations.

The claims alone decide what each guest with a soft reservation gets, see
``nova_rt.rules.soft``.  A claim makes the runtimes of other guests shorter
under Nova's lock, before the server of the claim starts.  The end of a claim,
and each audit, lengthens the runtimes that may be longer.
"""

from collections.abc import Iterable, Iterator
import dataclasses
from typing import Any

from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import report
from nova_rt.rules import soft
from nova_rt.services.compute import claims
from nova_rt.services.compute import refusals
from nova_rt.services.compute import strangers

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """The runtime that the guest of a soft reservation should have.

    :ivar allowed: one claim with the runtime that the guest gets now; during a
        resize, both claims of the server with their own runtimes; the guest
        has one of these runtimes
    """

    uuid: str
    allowed: tuple[claims.RTClaim, ...]


def targets(rt: Any, more: Iterable[claims.RTClaim] = ()) -> list[Target]:
    """Returns what guests with soft reservations should have now.

    :param rt: the tracker of this host
    :param more: claims that are about to be made, in addition to those that
        count
    :raises InvalidClaim: when a claim cannot be read
    """
    more = list(more)
    all_claims = [*rt.rt_claims(), *more]
    state = rt.rt_state()
    if more:
        state = rt.driver.rt_capacity.empty.fold(
            claims.counted(all_claims, state)).fold(
                strangers.all_shares(rt.rt_strangers))
    by_server: dict[str, list[claims.RTClaim]] = {}
    for claim in all_claims:
        by_server.setdefault(claim.instance_uuid, []).append(claim)
    ours = [own for own in by_server.values()
            if any(claim.soft for claim in own)]
    return [*_single(state, [own[0] for own in ours if len(own) == 1]),
            *(Target(own[0].instance_uuid, tuple(own)) for own in ours
              if len(own) > 1)]


def _single(state: Any, soft_claims: list[claims.RTClaim]) -> Iterator[Target]:
    granted = soft.granted(
        state, [(claim.cpus, claim.reservation) for claim in soft_claims])
    for claim, wanted in zip(soft_claims, granted, strict=True):
        yield Target(claim.instance_uuid, (dataclasses.replace(
            claim, reservation=wanted),))


def make_room(rt: Any, more: Iterable[claims.RTClaim] = ()) -> None:
    """Makes the runtimes of other guests as short as the claims demand.

    The caller has Nova's lock.

    :raises ComputeResourcesUnavailable: when a guest keeps a runtime that is
        too long
    """
    try:
        rt.driver.rt_level(targets(rt, more), lowers_only=True)
    except exception.RTError as error:
        raise refusals.refused(
            report.NO_ROOM, 'a server with a soft reservation cannot be '
            f'given a shorter runtime: {exception.clause(error)}',
            'no room') from error


def level(rt: Any) -> None:
    """Gives guests the longest runtimes that they may have; never raises.

    The end of a claim must succeed even if libvirt does not answer.
    The caller has Nova's lock.
    """
    try:
        rt.driver.rt_level(targets(rt))
    except Exception as error:
        LOG.warning('The CPU time that nobody has reserved was not divided '
                    'among the servers with soft reservations: %s',
                    str(error))
