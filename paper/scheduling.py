# SPDX-License-Identifier: Apache-2.0

"""Servers of rt-walk on this host, and how client and noise are scheduled.

Each context manager runs a server and yields the command that starts a
client which neither it nor anything ordinary delays.
"""

from collections.abc import Iterator, Sequence
import contextlib
import os

from nova_rt.machine.host import sched
from nova_rt.rules import reservation as rt_reservation
from paper import group
from paper import rtwalk

SERVER_CPU, CLIENT_CPU = 0, 1

#: On another CPU than the server, before all that is ordinary.
BESIDE = ('chrt', '--fifo', '20', 'taskset', '--cpu-list')
#: Beside a thread of SCHED_DEADLINE, which may use all CPUs, only another
#: one is sure of a CPU: 0.9 ms every ms, which with a server of 0.9 is still
#: below what the kernel admits to two CPUs.
DEADLINE = ('chrt', '--deadline', '--sched-runtime', '900000',
            '--sched-deadline', '1000000', '--sched-period', '1000000', '0')


@contextlib.contextmanager
def fair(endpoint: rtwalk.Endpoint) -> Iterator[Sequence[str]]:
    """A server as the kernel schedules everything, on one CPU."""
    with rtwalk.server(endpoint) as process:
        os.sched_setaffinity(process, {SERVER_CPU})
        yield (*BESIDE, str(CLIENT_CPU))


@contextlib.contextmanager
def reserved(endpoint: rtwalk.Endpoint,
             reservation: rt_reservation.Reservation
             ) -> Iterator[Sequence[str]]:
    """A server under SCHED_DEADLINE.

    :raises OSError: when EBUSY where there is not so much bandwidth left
    """
    with rtwalk.server(endpoint) as process:
        sched.start(process, reservation.runtime_us,
                    reservation.period_us)
        yield DEADLINE


@contextlib.contextmanager
def grouped(endpoint: rtwalk.Endpoint,
            reservation: rt_reservation.Reservation
            ) -> Iterator[Sequence[str]]:
    """A server in a control group, as a container is.

    :raises KernelError: when the host cannot, or has not so much left
    """
    with (group.reserved(reservation, SERVER_CPU) as enter,
          rtwalk.server(endpoint) as process):
        os.sched_setaffinity(process, {SERVER_CPU})
        enter(process)
        yield (*BESIDE, str(CLIENT_CPU))


@contextlib.contextmanager
def noise(tasks: int = 4, busy_us: int = 6000, period_us: int = 100_000
          ) -> Iterator[None]:
    """The paper's: real-time tasks, these on each of the two CPUs.

    On both, since a thread under SCHED_DEADLINE cannot be kept on one.
    """
    with contextlib.ExitStack() as stack:
        for cpu in (SERVER_CPU, CLIENT_CPU):
            for _ in range(tasks):
                stack.enter_context(rtwalk.running((
                    'chrt', '--rr', '1', 'taskset', '--cpu-list', str(cpu),
                    str(rtwalk.PROGRAM), 'noise', str(busy_us),
                    str(period_us))))
        yield
