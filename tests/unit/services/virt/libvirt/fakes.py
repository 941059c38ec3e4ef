# SPDX-License-Identifier: Apache-2.0

"""Stand-ins for the kernel and for the driver, which hold real claims."""

import contextlib

from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims


def claim(runtime=1000, period=2000, cpus=(0,), uuid=uuids.server,
          unreserved=(), divisor=1):
    return claims.RTClaim(uuid, 0, reservation.Reservation(runtime, period),
                          tuple(cpus), unreserved=tuple(unreserved),
                          divisor=divisor)


def refusal(group='g', reason='no room'):
    return exception.KernelError(interface='fake', group=group, reason=reason)


class Reservations:
    """services.virt.libvirt.reservations.Reservations; notes what happens."""

    def __init__(self, held=None, error=None, interface=True, pauses=False,
                 pins=True, moved=None):
        self.events = []
        self.missed = 0
        #: whether nobody else touched the guest, at each apply and release
        self.alone = []
        self._handled = 0
        self._pauses = pauses
        self._pins = pins
        self._moved = moved
        self._held = held
        self._error = error
        self._interface = interface

    def claim(self, uuid):
        return self._held

    def destination(self, uuid):
        return self._moved

    @contextlib.contextmanager
    def handling(self, uuid):
        self._handled += 1
        try:
            yield
        finally:
            self._handled -= 1

    def guard(self):
        self.events.append('guard')

    def withhold(self, uuid):
        self.events.append('withhold')

    def starts_paused(self):
        return self._pauses

    def pins(self):
        return self._pins

    def needed(self):
        if not self._interface:
            raise exception.ReservationNotApplied(uuid='u', reason='none')
        return self

    def apply(self, pid, held):
        self.events.append(('apply', pid, held))
        self.alone.append(self._handled > 0)
        if self._error:
            raise self._error

    def pid(self, uuid):
        return 4711

    def release(self, uuid):
        self.events.append('release')
        self.alone.append(self._handled > 0)

    def settle(self):
        self.events.append('settle')


class Domain:
    """A libvirt domain; notes in the *events* of its reservations."""

    def __init__(self, events, uuid=uuids.server):
        self._events = events
        self._uuid = uuid

    def UUIDString(self):
        return self._uuid

    def createWithFlags(self, flags):
        self._events.append(f'start {flags}')

    def resume(self):
        self._events.append('resume')

    def destroy(self):
        self._events.append('destroy')
