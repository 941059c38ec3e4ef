# SPDX-License-Identifier: Apache-2.0

"""Keeps a guest where it is until the host it migrates to is ready for it.

libvirt tells nova-compute at the destination of the guest that arrives in its
own time, and switches over as soon as the memory is there.  A guest could run
there before the kernel grants its reservation, or with nova-compute down for
ever.  So its memory is sent slowly until that nova-compute has noted, as an
event of the server's action that operators see, that all is in place.
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

#: MiB/s, the least that libvirt takes: no guest with an operating system has
#: moved at this speed before the patience ends.
SPEED = 1
#: seconds that the destination has
PATIENCE = 30.0
INTERVAL = 0.1
EVENT = 'nova_rt_reserved'

# An action may have been asked for since, such as to lock the server.
_LATEST_ACTIONS = 3


def speed(copied: int) -> int:
    """MiB/s to begin with: disks take as long as the patience.

    libvirt has one speed for disks and memory, and cannot change that of
    disks, which go first.

    :param copied: bytes of the disks that are copied, 0 for shared ones
    """
    return max(SPEED, copied // 2**20 // int(PATIENCE))


def note(context: Any, uuid: str, host: str) -> None:
    """Say, at the destination, that the reservation is in place."""
    event = objects.InstanceActionEvent
    event.event_start(context, uuid, EVENT, want_result=False, host=host)
    event.event_finish(context, uuid, EVENT, want_result=False)


def notes(context: Any, uuid: str) -> frozenset[int]:
    """Ids of what was noted of a server, in its latest actions."""
    actions = objects.InstanceActionList.get_by_instance_uuid(
        context, uuid, limit=_LATEST_ACTIONS)
    return frozenset(
        event.id for action in actions
        for event in objects.InstanceActionEventList.get_by_action(
            context, action.id) if event.event == EVENT)


class Hold:
    """While a guest is sent: slowly at first, then as fast as it may.

    :param guest: Nova's Guest
    :param ready: whether the destination is; asked again if it raises
    :param speed: MiB/s that the guest may be sent with in the end
    :param first: MiB/s that it begins with, which disks need
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
                          'destination after %d s; does nova-compute run '
                          'there?', self._guest.uuid, PATIENCE)
                self._insist(self._guest.abort_job)
                return
            self._slow_down()
        # What is set before the first page is sent, libvirt overwrites.
        self._insist(self._release)

    def _is_ready(self) -> bool:
        try:
            return self._ready()
        except Exception:
            LOG.exception('Whether the destination is ready for server %s '
                          'is asked again.', self._guest.uuid)
            return False

    def _slow_down(self) -> None:
        """The disks are there: what follows is memory, which has to wait."""
        with contextlib.suppress(libvirt.libvirtError):  # not yet, or over
            self._is_slow = self._is_slow or self._set_speed(SPEED)

    def _release(self) -> bool:
        return self._set_speed(self._speed)

    def _set_speed(self, speed: int) -> bool:
        """Whether memory is being sent, so that it counts."""
        if not self._guest.get_job_info().memory_processed:
            return False
        self._guest._domain.migrateSetMaxSpeed(speed)
        return True

    def _insist(self, act: Callable[[], bool | None]) -> None:
        """Until it is done: libvirt may not have got so far yet."""
        while not self._ended.wait(INTERVAL):
            try:
                if act() is not False:
                    return
            except libvirt.libvirtError as error:
                LOG.debug('Server %s is still being prepared: %s',
                          self._guest.uuid, str(error))
