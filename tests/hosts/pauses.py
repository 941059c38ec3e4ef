# SPDX-License-Identifier: Apache-2.0

"""The pauses of a guest in a live migration, as both libvirts report them."""

from collections.abc import Iterator
import contextlib
import dataclasses
import threading
import time
from typing import Any

import libvirt

from tests.hosts import base


@dataclasses.dataclass
class Pause:
    """A pause in ns of the clock; 0 for a part that was not seen."""

    begin_ns: int = 0
    end_ns: int = 0

    def note(self, connection: Any, domain: Any, event: int, detail: int,
             opaque: Any) -> None:
        now = time.monotonic_ns()
        if event == libvirt.VIR_DOMAIN_EVENT_SUSPENDED:
            self.begin_ns = self.begin_ns or now
        elif event == libvirt.VIR_DOMAIN_EVENT_RESUMED:
            self.end_ns = now


_loop = threading.Lock()


def _serve() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()


def prepare() -> None:
    """Events need a loop, before the first connection."""
    if _loop.acquire(blocking=False):
        libvirt.virEventRegisterDefaultImpl()
        threading.Thread(target=_serve, daemon=True).start()


@contextlib.contextmanager
def watching(uuid: str) -> Iterator[Pause]:
    """The pause of a server that moves in the with-block."""
    prepare()
    pause = Pause()
    with contextlib.ExitStack() as stack:
        for host in (base.EAST, base.WEST):
            connection = stack.enter_context(base.connected(host))
            number = connection.domainEventRegisterAny(
                None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                pause.note, None)
            stack.callback(connection.domainEventDeregisterAny, number)
        yield pause
