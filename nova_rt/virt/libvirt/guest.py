# SPDX-License-Identifier: Apache-2.0

"""The one choke point: no guest with a reservation runs without it.

Whatever starts a domain in Nova's libvirt driver (spawn, reboot, rescue,
resume, migration ...) ends in Guest.launch.
"""

from collections.abc import Callable
import contextlib
import time
from typing import Any, Protocol

from nova.virt.libvirt import guest as libvirt_guest
from oslo_log import log as logging
from oslo_utils import excutils

from nova_rt.compute import claims
from nova_rt.virt.libvirt import enforcer
from nova_rt.virt.libvirt import holding
from nova_rt.virt.libvirt import pinning

LOG = logging.getLogger(__name__)


class Reservations(Protocol):
    """What guests and the host ask the driver."""

    def rt_claim(self, uuid: str) -> claims.RTClaim | None:
        """The claim of a server; None for one without a reservation.

        :raises ReservationNotApplied: it should have one and has none
        """

    def rt_destination(self, uuid: str) -> claims.RTClaim | None:
        """The claim of a server where it is being migrated to.

        :raises ReservationNotApplied: there should be one and is none
        """

    def rt_awaited(self, uuid: str) -> Callable[[], bool]:
        """Whether the destination is ready, in the migration that begins."""

    def rt_enforcer(self) -> enforcer.Enforcer:
        """:raises ReservationNotApplied: the kernel has no interface"""

    def rt_starts_paused(self) -> bool:
        """Whether guests can be started before their code runs."""

    def rt_pins(self) -> bool:
        """Whether guests must be kept on the pCPUs of their claim."""

    def rt_handling(self, uuid: str
                    ) -> contextlib.AbstractContextManager[None]:
        """While Nova starts or ends a guest, nobody else touches it."""

    def rt_guard(self) -> None:
        """A guest is about to be started; never raises."""

    def rt_pid(self, uuid: str) -> int:
        """The process that keeps a running guest.

        :raises LookupError: there is none
        """

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
        self._reservations.rt_guard()
        if claim is None:
            return super().launch(pause=pause)
        with self._reservations.rt_handling(self.uuid):
            return self._rt_launch(claim, pause)

    def _rt_launch(self, claim: claims.RTClaim, pause: bool) -> Any:
        target = self._reservations.rt_enforcer()
        waits = self._reservations.rt_starts_paused()
        result = super().launch(pause=pause or waits)
        started = time.monotonic()
        try:
            target.apply(self._reservations.rt_pid(self.uuid), claim)
            if waits and not pause:
                self.resume()
        except Exception:
            with excutils.save_and_reraise_exception():
                self.poweroff()
        LOG.info('Server %s has %s on pCPUs %s, %d ms after its start.',
                 self.uuid, claim.reservation, list(claim.cpus),
                 (time.monotonic() - started) * 1000)
        return result

    def migrate(self, destination: Any, *args: Any,
                destination_xml: str | None = None, bandwidth: int = 0,
                **kwargs: Any) -> Any:
        claim = self._reservations.rt_destination(self.uuid)
        if claim is None:
            return super().migrate(
                destination, *args, destination_xml=destination_xml,
                bandwidth=bandwidth, **kwargs)
        if destination_xml and self._reservations.rt_pins():
            destination_xml = pinning.pinned(destination_xml, claim.cpus)
        speed = bandwidth or self._domain.migrateGetMaxSpeed()
        ready = self._reservations.rt_awaited(self.uuid)
        with holding.Hold(self, ready, speed):
            return super().migrate(
                destination, *args, destination_xml=destination_xml,
                bandwidth=holding.SPEED, **kwargs)

    def save_memory_state(self) -> None:
        try:
            super().save_memory_state()
        finally:  # its group has gone with it
            self._reservations.rt_settle()

    def poweroff(self) -> None:
        # Where the kernel allows it, its tasks stop being real-time and its
        # budget returns at once; that of a removed group takes until the
        # kernel gets round to it.
        with self._reservations.rt_handling(self.uuid):
            self._reservations.rt_release(self.uuid)
            try:
                super().poweroff()
            finally:  # it may have ended by itself
                self._reservations.rt_settle()
