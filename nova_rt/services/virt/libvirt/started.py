# SPDX-License-Identifier: Apache-2.0

"""Handles guests that were not started by Nova's Guest.launch.

libvirt itself starts the guest at the destination of a live migration, and a
container that is rebooted from inside.  These guests get their reservations,
or are ended.
"""

from collections.abc import Callable
import contextlib
from typing import Any

import libvirt
from nova.compute import task_states
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import words
from nova_rt.services.compute import claims
from nova_rt.services import events
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)


class Starts:
    """Handles the starts of the guests of one host.

    :param connection: returns the current connection to libvirt
    """

    def __init__(self, owed: reservations.Reservations,
                 connection: Callable[[], Any]) -> None:
        self._reservations = owed
        self._connection = connection

    def heed(self, uuid: str) -> bool:
        """Gives a reservation to a guest that just started, or ends the guest.

        :returns: whether the guest has a reservation and the kernel grants
            it
        """
        try:
            pid = self._reservations.pid(uuid)
        except (LookupError, libvirt.libvirtError):
            return False  # The guest has ended already.
        try:
            claim = self._reservations.tracked_claim(uuid)
            if claim is None:
                self._reservations.withhold(uuid)
                return False
            self._give(uuid, claim)
            return True
        except (LookupError, libvirt.libvirtError):
            return False
        except exception.RTError as error:
            self._end(uuid, pid, error)
            return False

    def _give(self, uuid: str, claim: claims.RTClaim) -> None:
        try:
            self._apply(uuid, claim)
        except exception.KernelError as error:
            # The server may have been started again meanwhile.
            LOG.info('Trying again to apply the CPU reservation of server '
                     '%s: %s', uuid, str(error))
            self._apply(uuid, claim)

    def _apply(self, uuid: str, claim: claims.RTClaim) -> None:
        target = self._reservations.needed()
        pid = self._reservations.pid(uuid)
        if not target.holds(pid, claim):
            target.apply(pid, claim)
            LOG.info('Server %s has %s on %s.', uuid,
                     claim.reservation, words.ids(claim.cpus))
            events.applied(claim)

    def _end(self, uuid: str, pid: int, error: exception.RTError) -> None:
        """Ends the started guest, but not a later guest of the server."""
        with contextlib.suppress(LookupError, libvirt.libvirtError):
            if self._is_ours(uuid) and pid == self._reservations.pid(uuid):
                LOG.error('Server %s is ended, because it would run without '
                          'its CPU reservation: %s', uuid, str(error))
                self._connection().lookupByUUIDString(uuid).destroy()
                events.missed(uuid, events.ENDED, str(error))
                return
        LOG.warning('Server %s runs without its CPU reservation until the '
                    'next audit: %s', uuid, str(error))
        events.missed(uuid, events.RUNS, str(error))

    def _is_ours(self, uuid: str) -> bool:
        """Checks that Nova itself is not working on the guest.

        During a live migration Nova only waits for the end of the migration.
        """
        server = reservations.stored(uuid)
        return server is not None and server.task_state in (
            None, task_states.MIGRATING)
