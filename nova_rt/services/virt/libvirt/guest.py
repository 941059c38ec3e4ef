# SPDX-License-Identifier: Apache-2.0

"""Starts guests so that none runs without the reservation of its server.

Every operation of Nova's libvirt driver that starts a domain (spawn, reboot,
rescue, resume, migration ...) calls Guest.launch.
"""

from collections.abc import Sequence
import contextlib
import time
from typing import Any

import libvirt
from nova.virt.libvirt import guest as libvirt_guest
from oslo_log import log as logging
from oslo_utils import excutils

from nova_rt.rules import words
from nova_rt.services.compute import claims
from nova_rt.services import events
from nova_rt.services.virt.libvirt import holding
from nova_rt.services.virt.libvirt import pinning
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)


class RTGuest(libvirt_guest.Guest):
    """A guest that runs with its reservation, or does not run."""

    def __init__(self, domain: Any, owed: reservations.Reservations
                 ) -> None:
        super().__init__(domain)
        self._reservations = owed

    def launch(self, pause: bool = False) -> Any:
        claim = self._reservations.claim(self.uuid)
        self._reservations.guard()
        if claim is None:
            result = super().launch(pause=pause)
            self._reservations.withhold(self.uuid)
            return result
        with self._reservations.handling(self.uuid):
            return self._rt_launch(claim, pause)

    def _rt_launch(self, claim: claims.RTClaim, pause: bool) -> Any:
        target = self._reservations.needed()
        waits = self._reservations.starts_paused()
        result = super().launch(pause=pause or waits)
        started = time.monotonic()
        try:
            target.apply(self._reservations.pid(self.uuid), claim)
            if waits and not pause:
                self.resume()
        except Exception as error:
            with excutils.save_and_reraise_exception():
                self._reservations.missed += 1
                events.missed(self.uuid, events.ENDED, str(error))
                self.poweroff()
        took_ms = int((time.monotonic() - started) * 1000)
        LOG.info('Server %s has %s on %s, %d ms after its start.', self.uuid,
                 claim.reservation, words.ids(claim.cpus), took_ms)
        events.applied(claim, took_ms)
        return result

    def migrate(self, destination: Any, *args: Any,
                migrate_disks: Sequence[str] | None = None,
                destination_xml: str | None = None, bandwidth: int = 0,
                **kwargs: Any) -> Any:
        claim = self._reservations.destination(self.uuid)
        if claim is None:
            return super().migrate(
                destination, *args, migrate_disks=migrate_disks,
                destination_xml=destination_xml, bandwidth=bandwidth,
                **kwargs)
        if destination_xml and self._reservations.pins():
            destination_xml = pinning.pinned(destination_xml, claim.by_vcpu)
        speed = bandwidth or self._domain.migrateGetMaxSpeed()
        copied = sum(self._domain.blockInfo(disk)[0]
                     for disk in migrate_disks or ())
        ready = self._reservations.awaited(self.uuid)
        first = min(speed, holding.speed(copied))
        try:
            with holding.Hold(self, ready, speed, first):
                return super().migrate(
                    destination, *args, migrate_disks=migrate_disks,
                    destination_xml=destination_xml,
                    bandwidth=first, **kwargs)
        except libvirt.libvirtError:
            with excutils.save_and_reraise_exception():
                self._restore(speed)

    def _restore(self, speed: int) -> None:
        """Resets the speed, which libvirt may keep after a failure."""
        with contextlib.suppress(libvirt.libvirtError):
            self._domain.migrateSetMaxSpeed(speed)

    def save_memory_state(self) -> None:
        try:
            super().save_memory_state()
        finally:  # The group of the guest is gone.
            self._reservations.settle()

    def poweroff(self) -> None:
        # If the kernel allows it, the tasks become ordinary and the budget
        # is released now.  The kernel frees the budget of a removed group
        # only some time later.
        with self._reservations.handling(self.uuid):
            self._reservations.release(self.uuid)
            try:
                super().poweroff()
            finally:  # The guest may have ended by itself.
                self._reservations.settle()
