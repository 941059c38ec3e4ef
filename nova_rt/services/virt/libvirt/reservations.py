# SPDX-License-Identifier: Apache-2.0

"""Which guests of this host are owed what, and who gives it to them.

Guests, the host and the events of libvirt ask here; nothing here calls them.
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
from nova_rt.services.compute import kept
from nova_rt.services.compute import request
from nova_rt.services.virt.libvirt import enforcer
from nova_rt.services.virt.libvirt import holding

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class Reservations:
    """The reservations of one nova-compute.

    :param virtapi: Nova's, which knows the compute manager
    :param host: Nova's connection to libvirt
    :ivar enforcer: None where the kernel has nothing to enforce them with,
        and until that was looked for
    """

    def __init__(self, virtapi: Any, host: Any) -> None:
        self._virtapi = virtapi
        self._host = host
        self.enforcer: enforcer.Enforcer | None = None
        self._handled: set[str] = set()

    # What a server is owed.

    def claim(self, uuid: str) -> claims.RTClaim | None:
        """The claim of a server; None for one without a reservation.

        :raises ReservationNotApplied: it should have one and has none
        """
        if self._compute.rt.rt_is_plain(uuid):
            return None
        instance = stored(uuid)
        if instance is None:
            return None  # not a server of this cloud
        found = claims.on_host(
            instance, self._compute.host, self._compute.rt.rt_providers()
        ) or claims.of_instance(instance)
        if found is None and request.reservation_of(instance) is not None:
            raise exception.ReservationNotApplied(
                uuid=uuid, reason='it asks for a CPU reservation and holds '
                'no claim; resize or rebuild it elsewhere')
        return found

    def known(self, uuid: str) -> claims.RTClaim | None:
        """The same as claim, from memory if the tracker is in no doubt."""
        found = self._compute.rt.rt_known(uuid)
        if found is None or len(found) > 1:
            return self.claim(uuid)
        return found[0] if found else None

    def preferred(self, uuid: str, found: tuple[claims.RTClaim, ...]
                  ) -> tuple[claims.RTClaim, ...]:
        """The claims, that of a guest which starts now first."""
        if len(found) > 1:
            with contextlib.suppress(exception.RTError):
                now = self.claim(uuid)
                return tuple(sorted(found, key=lambda each: each != now))
        return found

    # Live migration.

    def destination(self, uuid: str) -> claims.RTClaim | None:
        """The claim of a server where it is being migrated to.

        :raises ReservationNotApplied: there should be one and is none
        """
        instance = stored(uuid)
        if instance is None or claims.of_instance(instance) is None:
            return None
        found = claims.of_destination(instance)
        if found is None:
            raise exception.ReservationNotApplied(
                uuid=uuid, reason='the destination of its live migration '
                'made no claim for its CPU reservation; does that '
                'nova-compute run RTLibvirtDriver?')
        return found

    def awaited(self, uuid: str) -> Callable[[], bool]:
        """Whether the destination is ready, in the migration that begins."""
        context = nova_context.get_admin_context()
        before = holding.notes(context, uuid)
        return lambda: bool(holding.notes(context, uuid) - before)

    def note(self, uuid: str) -> None:
        """Tell the source of a live migration that all is in place here."""
        server, here = stored(uuid), self._compute.host
        if (server is not None and server.host != here
                and server.task_state == task_states.MIGRATING):
            holding.note(nova_context.get_admin_context(), uuid, here)

    # How it is given.

    def needed(self) -> enforcer.Enforcer:
        """The enforcer, for a server that has a claim.

        :raises ReservationNotApplied: the kernel has no interface
        """
        if self.enforcer is None:
            raise exception.ReservationNotApplied(
                uuid='with a CPU reservation',
                reason='its host has nothing to enforce that with')
        return self.enforcer

    def starts_paused(self) -> bool:
        """Whether guests can be started before their code runs."""
        return bool(CONF.libvirt.virt_type != 'lxc')

    def pins(self) -> bool:
        """Whether guests must be kept on the pCPUs of their claim."""
        return self.enforcer is not None and self.enforcer.pins

    def guard(self) -> None:
        """A guest is about to be started; never raises."""
        try:
            if self.enforcer is not None:
                self.enforcer.guard()
        except exception.KernelError as error:
            LOG.warning('A server may run in real time without a '
                        'reservation: %s', str(error))

    def release(self, uuid: str) -> None:
        """A guest is about to be ended; never raises."""
        if self.enforcer is None or not self.enforcer.releases_early:
            return
        try:
            self.enforcer.release(self.pid(uuid))
        except (exception.KernelError, LookupError, OSError,
                libvirt.libvirtError) as error:
            LOG.info('The budget of server %s goes when its group does: %s',
                     uuid, str(error))

    def settle(self) -> None:
        """A guest ended; never raises."""
        try:
            if self.enforcer is not None:
                self.enforcer.settle()
        except exception.KernelError as error:
            LOG.info('A budget is left until the next audit: %s', str(error))

    # The guests.

    @contextlib.contextmanager
    def handling(self, uuid: str) -> Iterator[None]:
        """While Nova starts or ends a guest, nobody else touches it."""
        if uuid in self._handled:
            yield  # one that could not be started is ended
            return
        self._handled.add(uuid)
        try:
            yield
        finally:
            self._handled.discard(uuid)

    def is_handled(self, uuid: str) -> bool:
        return uuid in self._handled

    def pid(self, uuid: str) -> int:
        """The process that keeps a running guest.

        :raises LookupError: there is none
        """
        # Looked up anew: for LXC libvirt leaves the id in a domain object
        # as it was before the start.
        return _pid(self._host.get_connection().lookupByUUIDString(uuid))

    def running(self) -> Iterator[tuple[str, int]]:
        """(uuid, pid) of the guests that run; 0 for a pid that is unknown."""
        for guest in self._host.list_guests(only_running=True):
            try:
                yield guest.uuid, _pid(guest._domain)
            except (LookupError, libvirt.libvirtError):
                yield guest.uuid, 0  # it ends, or has not quite begun

    @property
    def _compute(self) -> Any:
        return self._virtapi._compute


def stored(uuid: str) -> Any:
    """A server with what says its reservation; None where there is none."""
    found = kept.instance(nova_context.get_admin_context(), uuid)
    return None if found is None or found.deleted else found


def _pid(domain: Any) -> int:
    """The process that keeps a running domain.

    :raises LookupError: there is none
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
