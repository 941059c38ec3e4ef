# SPDX-License-Identifier: Apache-2.0

"""Connects the guests of this host with their claims and the enforcer.

Guests, the host and the handler of libvirt's events use this module; the
module does not call them.
"""

from collections.abc import Callable, Iterator
import contextlib
from typing import Any

import libvirt
from nova.compute import task_states
import nova.conf
from nova import context as nova_context
from oslo_log import log as logging

from nova_rt.machine import privsep
from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.compute import counting
from nova_rt.services.compute import request
from nova_rt.services.virt.libvirt import enforcer
from nova_rt.services.virt.libvirt import holding

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class Reservations:
    """The reservations of one nova-compute.

    :param virtapi: Nova's VirtAPI, which has the compute manager
    :param host: Nova's connection to libvirt
    :ivar enforcer: None if the kernel has no interface, and before the
        driver has looked for one
    :ivar missed: how many servers did not start, because the kernel did not
        hold their reservation
    """

    def __init__(self, virtapi: Any, host: Any) -> None:
        self._virtapi = virtapi
        self._host = host
        self.enforcer: enforcer.Enforcer | None = None
        self.missed = 0
        self._handled: set[str] = set()

    # The following methods find claims.

    def claim(self, uuid: str) -> claims.RTClaim | None:
        """Returns the claim of a server; None if it reserves nothing.

        :raises ReservationNotApplied: when the server asks for a reservation
            but holds no claim
        """
        if self._compute.rt.rt_is_plain(uuid):
            return None
        instance = stored(uuid)
        if instance is None:
            return None  # The guest is not a server of this cloud.
        claim = claims.on_host(
            instance, self._compute.host, self._compute.rt.rt_providers()
        ) or claims.instance_claim(instance)
        if claim is None and request.reservation_of(instance) is not None:
            raise exception.ReservationNotApplied(
                uuid=uuid, reason='the server asks for a CPU reservation but '
                'holds no claim; resize or migrate the server')
        return claim

    def tracked_claim(self, uuid: str) -> claims.RTClaim | None:
        """Returns the claim, from the tracker if the tracker has only one.

        :raises ReservationNotApplied: as for claim
        """
        tracked = self._compute.rt.rt_server_claims(uuid)
        if tracked is None or len(tracked) > 1:
            return self.claim(uuid)
        return tracked[0] if tracked else None

    def preferred(self, uuid: str, tracked: tuple[claims.RTClaim, ...]
                  ) -> tuple[claims.RTClaim, ...]:
        """Returns the claims, first the one of a guest that starts now."""
        if len(tracked) > 1:
            with contextlib.suppress(exception.RTError):
                now = self.claim(uuid)
                return tuple(sorted(tracked, key=lambda claim: claim != now))
        return tracked

    # The following methods are for live migration.

    def destination(self, uuid: str) -> claims.RTClaim | None:
        """Returns the claim of a server on the host it is migrated to.

        :raises ReservationNotApplied: when the server has a reservation but
            the destination made no claim
        """
        instance = stored(uuid)
        if instance is None or claims.instance_claim(instance) is None:
            return None
        claim = claims.destination_claim(instance)
        if claim is None:
            raise exception.ReservationNotApplied(
                uuid=uuid, reason='the destination of its live migration '
                'made no claim for its CPU reservation; the nova-compute '
                'there needs [DEFAULT] compute_driver = '
                'nova_rt.RTLibvirtDriver')
        return claim

    def awaited(self, uuid: str) -> Callable[[], bool]:
        """Returns a function that checks whether the destination is ready.

        Notes of earlier migrations do not count.
        """
        context = nova_context.get_admin_context()
        before = holding.notes(context, uuid)
        return lambda: bool(holding.notes(context, uuid) - before)

    def note(self, uuid: str) -> None:
        """Tells the source of a live migration that this host is ready."""
        server, here = stored(uuid), self._compute.host
        if (server is not None and server.host != here
                and server.task_state == task_states.MIGRATING):
            holding.note(nova_context.get_admin_context(), uuid, here)

    # The following methods use the enforcer.

    def needed(self) -> enforcer.Enforcer:
        """Returns the enforcer, for a server that has a claim.

        :raises ReservationNotApplied: when the host has no enforcer
        """
        if self.enforcer is None:
            raise exception.ReservationNotApplied(
                uuid='with a CPU reservation',
                reason='its host cannot enforce CPU reservations; run '
                'nova-rt doctor there')
        return self.enforcer

    def starts_paused(self) -> bool:
        """Checks whether a guest can be started without running its code."""
        return bool(CONF.libvirt.virt_type != 'lxc')

    def change(self, claim: claims.RTClaim) -> None:
        """Gives a running guest another claim; ignores a stopped guest.

        Meanwhile the guest has at least the smaller of the two reservations.

        :raises CannotChangeReservation: when Nova starts or ends the guest
        :raises KernelError: when the kernel refuses
        """
        uuid = claim.instance_uuid
        pids = dict(self.running())
        if self.is_handled(uuid) or pids.get(uuid) == 0:
            raise exception.CannotChangeReservation(
                uuid=uuid, reason='the server is just starting or ending; '
                'try again')
        if uuid in pids:
            with self.handling(uuid):
                self.needed().apply(pids[uuid], claim)

    def holds_cpus(self) -> bool:
        """Checks whether a running guest must keep its pCPUs."""
        return self.enforcer is None or self.enforcer.holds_cpus

    def pins(self) -> bool:
        """Checks whether guests must stay on the pCPUs of their claims."""
        return self.enforcer is not None and self.enforcer.pins

    def guard(self) -> None:
        """Removes spare room before a guest starts; never raises."""
        try:
            if self.enforcer is not None:
                self.enforcer.guard()
        except exception.KernelError as error:
            LOG.warning('A server may run in real time without a CPU '
                        'reservation: %s', str(error))

    def withhold(self, uuid: str) -> None:
        """Stops real-time tasks of a guest without a claim; never raises."""
        try:
            if self.enforcer is not None:
                self.enforcer.withhold(self.pid(uuid))
        except (exception.KernelError, LookupError, OSError,
                libvirt.libvirtError) as error:
            LOG.warning('Server %s may run in real time without a CPU '
                        'reservation until the next audit: %s', uuid,
                        str(error))

    def release(self, uuid: str) -> None:
        """Releases the budget of a guest before it ends; never raises."""
        if self.enforcer is None or not self.enforcer.releases_early:
            return
        try:
            self.enforcer.release(self.pid(uuid))
        except (exception.KernelError, LookupError, OSError,
                libvirt.libvirtError) as error:
            LOG.info('The budget of server %s is released only when its '
                     'group is removed: %s', uuid, str(error))

    def settle(self) -> None:
        """Removes the room that an ended guest left; never raises."""
        try:
            if self.enforcer is not None:
                self.enforcer.settle()
        except exception.KernelError as error:
            LOG.info('Cannot take back what an ended guest left in the groups '
                     'above it; the next audit tries again: %s',
                     str(error))

    # The following methods know the guests.

    @contextlib.contextmanager
    def handling(self, uuid: str) -> Iterator[None]:
        """Marks a guest that Nova starts or ends, so that audits skip it."""
        if uuid in self._handled:
            yield  # A guest that could not be started is being ended.
            return
        self._handled.add(uuid)
        try:
            yield
        finally:
            self._handled.discard(uuid)

    def is_handled(self, uuid: str) -> bool:
        """Checks whether Nova is starting or ending a guest."""
        return uuid in self._handled

    def pid(self, uuid: str) -> int:
        """Returns the pid of the keeper of a running guest.

        :raises LookupError: when the guest does not run
        """
        # The domain is looked up again, because with LXC a domain object
        # keeps the id from before the start.
        return _pid(self._host.get_connection().lookupByUUIDString(uuid))

    def running(self) -> Iterator[tuple[str, int]]:
        """Yields (uuid, pid) of each running guest; 0 for an unknown pid."""
        for guest in self._host.list_guests(only_running=True):
            try:
                yield guest.uuid, _pid(guest._domain)
            except (LookupError, libvirt.libvirtError):
                yield guest.uuid, 0  # The guest is just ending or starting.

    @property
    def _compute(self) -> Any:
        return self._virtapi._compute


def stored(uuid: str) -> Any:
    """Returns a server as it is stored; None if there is no such server."""
    instance = counting.instance(nova_context.get_admin_context(), uuid)
    return None if instance is None or instance.deleted else instance


def _pid(domain: Any) -> int:
    """Returns the pid of the keeper of a running domain.

    :raises LookupError: when the domain does not run
    """
    if CONF.libvirt.virt_type == 'lxc':
        pid = int(domain.ID())
        if pid <= 0:
            raise LookupError(f'domain {domain.name()} does not run')
        return pid
    try:
        return int(privsep.read_pid(domain.name()))
    except (OSError, ValueError) as error:
        raise LookupError(
            f'domain {domain.name()} has no pid: {error}') from error
