# SPDX-License-Identifier: Apache-2.0

"""Corrects budgets in the kernel that differ from the claims.

Each audit makes these corrections; the first audit is at the start of
nova-compute.
"""

from collections.abc import Collection, Sequence
import contextlib
import dataclasses

from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import words
from nova_rt.services.compute import claims
from nova_rt.services import events
from nova_rt.services.virt.libvirt import enforcer

LOG = logging.getLogger(__name__)

#: After this many failures an audit stops correcting guests.  Nova's audit
#: holds a lock that builds wait for, and a guest that cannot be corrected
#: takes up to three seconds.
_MOST_FAILURES = 3


@dataclasses.dataclass(frozen=True, slots=True)
class RunningGuest:
    """A running guest of Nova, with its entitlement.

    :ivar allowed: the guest may hold any of these claims; a guest that holds
        none of them gets the first one
    :ivar settled: False to leave the guest as it is
    """

    uuid: str
    pid: int
    allowed: tuple[claims.RTClaim, ...]
    settled: bool = True


class Reconciler:
    """Corrects each guest whose budget differs from its claim.

    A failure is logged once, and a later audit tries again.
    """

    def __init__(self, target: enforcer.Enforcer) -> None:
        self._target = target
        self._reported: frozenset[str] = frozenset()
        self._warned: frozenset[str] = frozenset()
        #: the errors of guests that failed, the latest one last
        self._failed: dict[str, str] = {}
        self._corrected = 0
        self._left = 0

    @property
    def corrected(self) -> int:
        """The number of budgets that the last audit corrected."""
        return self._corrected

    @property
    def unserved(self) -> Collection[str]:
        """The servers that could not be corrected when last tried."""
        return self._failed.keys()

    def run(self, guests: Sequence[RunningGuest], running: Collection[int]
            ) -> None:
        """Corrects all guests, and releases the budgets of orphans.

        :param running: see Enforcer.release_orphans
        """
        with contextlib.suppress(exception.RTError):
            # Somebody may have switched controllers of the groups off.  The
            # last step of the audit reports the error.
            self._target.guard()
        self._target.give_way([
            guest.pid for guest in guests if guest.settled])
        self._target.note([guest.pid for guest in guests])
        self._corrected = 0
        failures = self._correct_all(guests)
        self._sum_up()
        try:
            for group in self._target.release_orphans(running):
                LOG.warning('Released the CPU reservation of the group %s, '
                            'which no longer has tasks.', group)
            self._target.settle()
            self._warn()
        except exception.RTError as error:
            failures.add(str(error))
        for text in failures - self._reported:
            LOG.error('Cannot correct the CPU reservations in the kernel: '
                      '%s', text)
        self._reported = frozenset(failures)

    def _sum_up(self) -> None:
        """Logs how many servers are corrected and how many are left."""
        left = len(self._failed)
        if self._corrected or left != self._left:
            LOG.warning('Servers whose CPU reservation this audit corrected: '
                        '%d; servers that are still without their '
                        'reservation: %d.',
                        self._corrected, left)
        self._left = left

    def _warn(self) -> None:
        """Logs each warning once for as long as its cause lasts."""
        warnings = frozenset(self._target.warnings())
        for text in sorted(warnings - self._warned):
            LOG.warning('%s', text)
        self._warned = warnings

    def _correct_all(self, guests: Sequence[RunningGuest]) -> set[str]:
        """Corrects guests and returns the errors of those that failed.

        If this audit did not try to correct a guest, the guest keeps its last
        error.
        """
        turns = {uuid: number for number, uuid in enumerate(self._failed, 1)}
        failures = 0
        # Budgets are lowered before others are raised, so that the others
        # find room.  Guests that failed before come last, in turn.
        for guest in sorted(guests, key=lambda guest: (
                turns.get(guest.uuid, 0), self._raise_by(guest))):
            if failures == _MOST_FAILURES:
                break
            self._failed.pop(guest.uuid, None)
            try:
                self._correct(guest)
            except exception.RTError as error:
                failures += 1
                self._failed[guest.uuid] = f'server {guest.uuid}: {error}'
        running = {guest.uuid for guest in guests}
        self._failed = {uuid: text for uuid, text in self._failed.items()
                        if uuid in running}
        return set(self._failed.values())

    def _raise_by(self, guest: RunningGuest) -> int:
        try:
            now = self._target.bandwidth(guest.pid)
        except exception.RTError:
            return 0
        wanted = (guest.allowed[0].in_kernel.bandwidth if guest.allowed
                  else 0)
        return wanted - now

    def _correct(self, guest: RunningGuest) -> None:
        if not guest.settled or self._holds_one(guest):
            return
        if guest.allowed:
            claim = guest.allowed[0]
            self._target.apply(guest.pid, claim)
            LOG.warning('The kernel did not hold the CPU reservation of '
                        'server %s; applied %s on %s.', guest.uuid,
                        claim.reservation, words.ids(claim.cpus))
            events.corrected(guest.uuid, claim)
            self._corrected += 1
        elif self._target.bandwidth(guest.pid):
            self._target.release(guest.pid)
            LOG.warning('Released the CPU reservation of server %s, which '
                        'holds no claim.', guest.uuid)
            events.corrected(guest.uuid, None)
            self._corrected += 1
        else:
            self._target.withhold(guest.pid)

    def _holds_one(self, guest: RunningGuest) -> bool:
        for claim in guest.allowed:
            # The claim may have another number of vCPUs, or the guest has
            # ended: the error shows when the guest is corrected.
            with contextlib.suppress(exception.KernelError):
                if self._target.holds(guest.pid, claim):
                    return True
        return False
