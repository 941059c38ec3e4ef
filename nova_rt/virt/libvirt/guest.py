# SPDX-License-Identifier: Apache-2.0

"""The one choke point: no guest with a reservation runs without it.

Whatever starts a domain in Nova's libvirt driver (spawn, reboot, rescue,
resume, migration ...) ends in Guest.launch.
"""

import time
from typing import Any, Protocol

from nova.virt.libvirt import guest as libvirt_guest
from oslo_log import log as logging
from oslo_utils import excutils

from nova_rt.compute import claims
from nova_rt.virt.libvirt import enforcer

LOG = logging.getLogger(__name__)


class Reservations(Protocol):
    """What guests and the host ask the driver."""

    def rt_claim(self, uuid: str) -> claims.RTClaim | None:
        """The claim of a server; None for one without a reservation.

        :raises ReservationNotApplied: it should have one and has none
        """

    def rt_enforcer(self) -> enforcer.Enforcer:
        """:raises ReservationNotApplied: the kernel has no interface"""

    def rt_pid(self, uuid: str) -> int:
        """The process that keeps a running guest."""

    def rt_release(self, uuid: str) -> None:
        """A guest is about to be ended; never raises."""

    def rt_settle(self) -> None:
        """A guest ended; never raises."""


class RTGuest(libvirt_guest.Guest):
    """A guest that runs with its reservation or not at all."""

    def __init__(self, domain: Any, reservations: Reservations) -> None:
        super().__init__(domain)
        self._reservations = reservations

    def launch(self, pause: bool = False) -> Any:
        claim = self._reservations.rt_claim(self.uuid)
        if claim is None:
            return super().launch(pause=pause)
        target = self._reservations.rt_enforcer()
        result = super().launch(pause=pause)
        started = time.monotonic()
        try:
            target.apply(self._reservations.rt_pid(self.uuid), claim)
        except Exception:
            with excutils.save_and_reraise_exception():
                self.poweroff()
        LOG.info('Server %s has %s on pCPUs %s, %d ms after its start.',
                 self.uuid, claim.reservation, list(claim.cpus),
                 (time.monotonic() - started) * 1000)
        return result

    def poweroff(self) -> None:
        # Its tasks stop being real-time and its budget returns at once;
        # that of a removed group takes until the kernel gets round to it.
        self._reservations.rt_release(self.uuid)
        super().poweroff()
        self._reservations.rt_settle()
