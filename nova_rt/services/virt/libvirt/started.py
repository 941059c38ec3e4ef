# SPDX-License-Identifier: Apache-2.0

"""A guest was started by somebody else than Nova's launch.

libvirt starts the destination of a live migration, and anew a container that
was rebooted from inside.  Such a guest gets its reservation, or is ended.
"""

from collections.abc import Callable
import contextlib
from typing import Any

import libvirt
from nova.compute import task_states
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)


class Starts:
    """Heeds the starts of the guests of one host.

    :param connection: to libvirt, as it is now
    """

    def __init__(self, owed: reservations.Reservations,
                 connection: Callable[[], Any]) -> None:
        self._reservations = owed
        self._connection = connection

    def heed(self, uuid: str) -> bool:
        """Give a guest that just started what it is owed, or end it.

        :returns: whether it has a reservation, in place
        """
        try:
            pid = self._reservations.pid(uuid)
        except (LookupError, libvirt.libvirtError):
            return False  # it has ended already
        try:
            claim = self._reservations.known(uuid)
            if claim is not None:
                self._give(uuid, claim)
            return claim is not None
        except (LookupError, libvirt.libvirtError):
            return False
        except exception.RTError as error:
            self._end(uuid, pid, error)
            return False

    def _give(self, uuid: str, claim: claims.RTClaim) -> None:
        try:
            self._apply(uuid, claim)
        except exception.KernelError as error:
            # Another guest of the server may run by now.
            LOG.info('The CPU reservation of server %s is tried again: %s',
                     uuid, str(error))
            self._apply(uuid, claim)

    def _apply(self, uuid: str, claim: claims.RTClaim) -> None:
        target = self._reservations.needed()
        pid = self._reservations.pid(uuid)
        if not target.holds(pid, claim):
            target.apply(pid, claim)
            LOG.info('Server %s has %s on pCPUs %s.', uuid,
                     claim.reservation, list(claim.cpus))

    def _end(self, uuid: str, pid: int, error: exception.RTError) -> None:
        """End the guest that was started, and no other."""
        with contextlib.suppress(LookupError, libvirt.libvirtError):
            if self._is_ours(uuid) and pid == self._reservations.pid(uuid):
                LOG.error('Server %s is ended, it would run without its CPU '
                          'reservation: %s', uuid, str(error))
                self._connection().lookupByUUIDString(uuid).destroy()
                return
        LOG.warning('Server %s runs without its CPU reservation until the '
                    'next audit: %s', uuid, str(error))

    def _is_ours(self, uuid: str) -> bool:
        """Whether Nova does nothing with the guest at this time.

        Of a live migration it only waits for the end.
        """
        server = reservations.stored(uuid)
        return server is not None and server.task_state in (
            None, task_states.MIGRATING)
