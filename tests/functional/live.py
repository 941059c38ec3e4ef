# SPDX-License-Identifier: Apache-2.0

"""libvirt's part of a live migration; Nova's fake libvirt only fails."""

from collections.abc import Callable
import threading
from typing import Any

import fixtures
from nova.tests.fixtures import libvirt as fakelibvirt

from tests.functional import guests

NONE = fakelibvirt.VIR_DOMAIN_JOB_NONE
COMPLETED = fakelibvirt.VIR_DOMAIN_JOB_COMPLETED
FAILED = fakelibvirt.VIR_DOMAIN_JOB_FAILED
CANCELLED = fakelibvirt.VIR_DOMAIN_JOB_CANCELLED
PATIENCE = 60
SLOW, UNLIMITED = 1, 2**43 - 1


class Migrations(fixtures.Fixture):
    """All of them, one at a time.

    :ivar ends: how they end: COMPLETED, FAILED or CANCELLED, which waits
        until somebody does it
    :ivar raises: whether a failure is an error of libvirt's too
    :ivar copying: set when the incoming domain is there
    :ivar while_copying: called with that domain, where all goes well
    :ivar trouble: what that raised
    :ivar xml: what was sent to the destination
    :ivar speeds: MiB/s, as they were set one after the other
    """

    def __init__(self, groups: guests.GuestGroups,
                 destination: Callable[[], Any]) -> None:
        """:param destination: libvirt's connection there"""
        super().__init__()
        self._groups, self._destination = groups, destination
        self.ends, self.raises, self.xml = COMPLETED, False, ''
        self.speeds: list[int] = []
        self.copying = threading.Event()
        self._aborted = threading.Event()
        self._fast = threading.Event()
        self.while_copying: Callable[[Any], None] = lambda incoming: None
        self.trouble: list[BaseException] = []

    def _setUp(self) -> None:
        for name, new in (
                ('migrateToURI3', self._migrate), ('jobStats', self._stats),
                ('abortJob', self._abort),
                # Attributes that the class does not have.
                ('migrateGetMaxSpeed', lambda domain: UNLIMITED),
                ('migrateSetMaxSpeed',
                 lambda domain, speed: self._set_speed(speed))):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova.tests.fixtures.libvirt.Domain.{name}', new))
        self.addCleanup(self._aborted.set)
        self.addCleanup(self._fast.set)

    def _stats(self, domain: Any, flags: int = 0) -> dict[str, int]:
        return {'type': domain._job_type, 'memory_processed': 1}

    def _set_speed(self, speed: int) -> None:
        self.speeds.append(speed)
        self._fast.set()

    def _abort(self, domain: Any) -> None:
        self._aborted.set()
        self._fast.set()

    def _migrate(self, domain: Any, destination: str, params: Any,
                 flags: Any) -> None:
        self.xml = params['destination_xml']
        self.speeds = [params['bandwidth']]
        self._aborted.clear()
        self._fast.clear()
        incoming = self._destination().createXML(self.xml, 'flags')
        if self.ends == COMPLETED:
            try:
                self.while_copying(incoming)
            except BaseException as error:
                self.trouble.append(error)
        self.copying.set()
        if self.ends == CANCELLED:
            self._aborted.wait(PATIENCE)
        elif self.speeds == [SLOW] and incoming.rt_pid:
            self._fast.wait(PATIENCE)
        ends = CANCELLED if self._aborted.is_set() else self.ends
        if ends == COMPLETED and incoming.rt_pid:
            incoming.resume()
            self._groups.forget(domain)
            domain._job_type = COMPLETED
            return
        self._groups.forget(incoming)
        domain._job_type = CANCELLED if ends == CANCELLED else FAILED
        if self.raises:
            raise fakelibvirt.make_libvirtError(
                fakelibvirt.libvirtError, 'operation failed',
                error_code=fakelibvirt.VIR_ERR_INTERNAL_ERROR)
