# SPDX-License-Identifier: Apache-2.0

"""Runs servers of rt-walk on this host, and schedules their clients.

Each context manager runs a server, and yields a command that starts a client.
Neither the server nor ordinary tasks delay this client.
"""

from collections.abc import Iterator, Sequence
import contextlib
import os

from nova_rt.machine import sched_setattr
from nova_rt.rules import reservation as rt_reservation
from paper import group
from paper import rtwalk

SERVER_CPU, CLIENT_CPU = 0, 1

#: On another CPU than the server, and before all ordinary tasks.
BESIDE = ('chrt', '--fifo', '20', 'taskset', '--cpu-list')
#: A thread of SCHED_DEADLINE may use all CPUs, so only another SCHED_DEADLINE
#: thread is sure to get a CPU: 0.9 ms every ms.  The kernel admits that on two
#: CPUs together with a server of 0.9.
DEADLINE = ('chrt', '--deadline', '--sched-runtime', '900000',
            '--sched-deadline', '1000000', '--sched-period', '1000000', '0')


@contextlib.contextmanager
def fair(endpoint: rtwalk.Endpoint) -> Iterator[Sequence[str]]:
    """Runs a server under the kernel's fair scheduler, on one CPU."""
    with rtwalk.server(endpoint) as process:
        os.sched_setaffinity(process, {SERVER_CPU})
        yield (*BESIDE, str(CLIENT_CPU))


@contextlib.contextmanager
def reserved(endpoint: rtwalk.Endpoint,
             reservation: rt_reservation.Reservation
             ) -> Iterator[Sequence[str]]:
    """Runs a server under SCHED_DEADLINE.

    :raises OSError: when there is not enough bandwidth left (EBUSY)
    """
    with rtwalk.server(endpoint) as process:
        sched_setattr.start(process, reservation.runtime_us,
                            reservation.period_us)
        yield DEADLINE


@contextlib.contextmanager
def grouped(endpoint: rtwalk.Endpoint,
            reservation: rt_reservation.Reservation
            ) -> Iterator[Sequence[str]]:
    """Runs a server in a control group, like a container.

    :raises KernelError: when the host has no interface or not enough room
    """
    with (group.reserved(reservation, SERVER_CPU) as enter,
          rtwalk.server(endpoint) as process):
        os.sched_setaffinity(process, {SERVER_CPU})
        enter(process)
        yield (*BESIDE, str(CLIENT_CPU))
