# SPDX-License-Identifier: Apache-2.0

"""Gives guests with soft reservations the runtimes that they should have now.

``nova_rt.services.compute.spare`` decides on the runtimes.
"""

from collections.abc import Iterable, Iterator, Sequence
import dataclasses

from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import spare
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class _Change:
    """A claim with the runtime that a guest should have.

    :ivar by: the change of the bandwidth of a vCPU in ppm
    """

    claim: claims.RTClaim
    by: int


def level(owed: reservations.Reservations, targets: Sequence[spare.Target],
          lowers_only: bool = False) -> None:
    """Changes the runtimes of running guests, the shorter ones first.

    A guest that Nova starts or ends now, or that has no reservation in the
    kernel yet, stays as it is.

    :param lowers_only: whether no runtime becomes longer
    :raises KernelError: when a runtime cannot be made shorter
    """
    if owed.enforcer is None or not targets:
        return
    for change in sorted(_changes(owed, targets),
                         key=lambda change: change.by):
        if change.by >= 0 and lowers_only:
            return
        try:
            owed.change(change.claim)
        except exception.RTError as error:
            if change.by < 0 and _runs(owed, change.claim):
                raise
            LOG.info('Server %s keeps its runtime until the next audit: %s',
                     change.claim.instance_uuid, str(error))


def _changes(owed: reservations.Reservations,
             targets: Iterable[spare.Target]) -> Iterator[_Change]:
    pids = dict(owed.running())
    for target in targets:
        pid = pids.get(target.uuid)
        if not pid or owed.is_handled(target.uuid):
            continue
        now = _granted(owed, pid)
        wanted = _wanted(target, now)
        if wanted is not None:
            yield _Change(wanted, wanted.reservation.bandwidth - max(
                share.bandwidth for share in now))


def _granted(owed: reservations.Reservations, pid: int
             ) -> set[reservation.Reservation]:
    """Returns the reservations of the vCPUs; none if the guest has ended."""
    try:
        return {share for _, share in owed.needed().shares(pid)}
    except exception.RTError:
        return set()


def _wanted(target: spare.Target, now: set[reservation.Reservation]
            ) -> claims.RTClaim | None:
    """Returns the claim that a guest should get; None if nothing changes.

    In a resize the server has two claims.  Among the claims with the period of
    the guest and at most its present runtime, the guest gets the one with the
    longer runtime.
    """
    if not now or any(now == {claim.reservation}
                      for claim in target.allowed):
        return None
    if len(target.allowed) == 1:
        return target.allowed[0]
    own = sorted(now)[-1]
    below = [claim for claim in target.allowed
             if claim.reservation.period_us == own.period_us
             and claim.reservation.runtime_us <= own.runtime_us]
    return max(below, key=lambda claim: claim.reservation.runtime_us,
               default=None)


def _runs(owed: reservations.Reservations, claim: claims.RTClaim) -> bool:
    return claim.instance_uuid in dict(owed.running())
