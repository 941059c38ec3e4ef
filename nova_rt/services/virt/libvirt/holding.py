# SPDX-License-Identifier: Apache-2.0

"""Holds back a live migration until the destination is ready.

libvirt switches over to the destination as soon as the memory is there, and
tells the nova-compute of the destination about the guest some time later.
So the guest could run at the destination before the kernel grants its
reservation.  If the nova-compute of the destination is down, the guest would
never get its reservation.  Therefore this module lets libvirt send the memory
slowly until the nova-compute of the destination has noted that the reservation
is in place.  The note is an event of the server's action, which operators can
see.
"""

from collections.abc import Callable
import contextlib
import threading
import time
from typing import Any, Self

import libvirt
from nova import objects
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: MiB/s: the lowest speed that libvirt accepts.  At this speed no guest with
#: an operating system has moved before PATIENCE ends.
SPEED = 1
#: the time that the destination has, in seconds
PATIENCE = 30.0
INTERVAL = 0.1
EVENT = 'nova_rt_reserved'

# Other actions may have begun after the migration, for example a lock of the
# server.
_LATEST_ACTIONS = 3


def speed(copied: int) -> int:
    """Returns the speed to begin with, in MiB/s.

    At this speed the disks take as long as PATIENCE.  libvirt has one speed
    for disks and memory, sends the disks first, and cannot change their
    speed later.

    :param copied: bytes of the disks that are copied; 0 for shared disks
    """
    return max(SPEED, copied // 2**20 // int(PATIENCE))


def note(context: Any, uuid: str, host: str) -> None:
    """Notes, at the destination, that the reservation is in place."""
    event = objects.InstanceActionEvent
    event.event_start(context, uuid, EVENT, want_result=False, host=host)
    event.event_finish(context, uuid, EVENT, want_result=False)


def notes(context: Any, uuid: str) -> frozenset[int]:
    """Returns the ids of the notes in the latest actions of a server."""
    actions = objects.InstanceActionList.get_by_instance_uuid(
        context, uuid, limit=_LATEST_ACTIONS)
    return frozenset(
        event.id for action in actions
        for event in objects.InstanceActionEventList.get_by_action(
            context, action.id) if event.event == EVENT)


class Hold:
    """A context that sends a guest slowly until the destination is ready.

    :param guest: Nova's Guest
    :param ready: returns whether the destination is ready; called again if
        it raises
    :param speed: the speed at the end, in MiB/s
    :param first: the speed at the beginning, in MiB/s, which disks need
    """

    def __init__(self, guest: Any, ready: Callable[[], bool], speed: int,
                 first: int = SPEED) -> None:
        self._guest = guest
        self._ready = ready
        self._speed = speed
        self._is_slow = first <= SPEED
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self._ended.wait(INTERVAL):
                return
            if time.monotonic() > deadline:
                LOG.error('The live migration of server %s is given up: its '
                          'CPU reservation is not in place at the '
                          'destination after %d s; check nova-compute '
                          'there.', self._guest.uuid, PATIENCE)
                self._insist(self._guest.abort_job)
                return
            self._slow_down()
        # libvirt overwrites a speed that is set before the first page of
        # memory is sent.
        self._insist(self._release)

    def _is_ready(self) -> bool:
        try:
            return self._ready()
        except Exception:
            LOG.exception('Cannot check whether the destination is ready for '
                          'server %s; trying again.', self._guest.uuid)
            return False

    def _slow_down(self) -> None:
        """Lowers the speed when the disks are sent and the memory begins."""
        # libvirt refuses before the migration begins and after it ends.
        with contextlib.suppress(libvirt.libvirtError):
            self._is_slow = self._is_slow or self._set_speed(SPEED)

    def _release(self) -> bool:
        return self._set_speed(self._speed)

    def _set_speed(self, speed: int) -> bool:
        """Sets the speed; returns False if no memory is being sent yet."""
        if not self._guest.get_job_info().memory_processed:
            return False
        self._guest._domain.migrateSetMaxSpeed(speed)
        return True

    def _insist(self, act: Callable[[], bool | None]) -> None:
        """Calls *act* until it succeeds, because libvirt may not be ready."""
        while not self._ended.wait(INTERVAL):
            try:
                if act() is not False:
                    return
            except libvirt.libvirtError as error:
                LOG.debug('Server %s is still being prepared: %s',
                          self._guest.uuid, str(error))
