# SPDX-License-Identifier: Apache-2.0

"""Tests whether live servers meet their targets with the advice.

usage: .venv/bin/python -m benchmarks.advice_live [servers] [seed]

Each server has three quarters of a CPU at first and answers requests that come
at random times over TCP, each with work of random length.  The advice is made
from what the monitor sees, as by ``nova-rt advise``.  Then the server gets the
advised reservation, beside an ordinary busy task and a busy group with a
reservation on the same CPU.  For 19 of 20 servers, the percentile must be
within the target.  The client measures from the time at which each request was
due.  Needs root, and kernel budgets for nine tenths of a CPU; exits with 1 if
the requirement is missed.
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent import futures
import contextlib
import os
import random
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

from benchmarks import stand_ins
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.colocation import group as rt_group
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_monitor import servers as monitor_servers
from rt_operate import advice
from rt_operate.commands import advise
from rt_operate.commands import this_host

SERVERS, MET, PERCENTILE = 20, 0.95, 0.99
#: The numbers of requests for the advice, and for its test.
WATCHED, JUDGED = 1_500, 2_500
#: The number of snapshots while the server is watched.
_LOOKS = 30
_AT_FIRST = rt_reservation.Reservation(75_000, 100_000)
#: The reservation of the busy group: its period is longer, so that it has the
#: lower priority on RT_GROUP_SCHED, as nova-compute would arrange it.
_BESIDE = rt_reservation.Reservation(100_000, 1_000_000)
_CPUS = tuple(sorted(os.sched_getaffinity(0)))
_CLIENT, _SERVER = _CPUS[0], _CPUS[-1]
_REQUEST = struct.Struct('<d92x')
_BUSY = [sys.executable, '-S', '-c', 'while True: pass']
#: Serves one request after the other, in the order of their arrival.
_PROGRAM = '''
import select, socket, struct, time
request = struct.Struct('<d92x')
with socket.create_server(('127.0.0.1', 0), backlog=512) as listener:
    print(listener.getsockname()[1], flush=True)
    poll, clients = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for handle, _ in poll.poll():
            if handle == listener.fileno():
                client, _ = listener.accept()
                clients[client.fileno()] = client
                poll.register(client, select.EPOLLIN)
                continue
            text = clients[handle].recv(request.size)
            if not text:
                poll.unregister(handle)
                clients.pop(handle).close()
                continue
            until = time.thread_time() + request.unpack(text)[0]
            while time.thread_time() < until:
                pass
            clients[handle].sendall(bytes(100))
'''


def questions(count: int, seed: int, kernel: rt_kernel.Kernel
              ) -> Iterator[tuple[rt_load.Load, rt_load.Target]]:
    """Yields random loads with targets that can be met."""
    draw = random.Random(seed)  # noqa: S311
    while count:
        length_us = draw.uniform(1_000, 3_000)
        load = rt_load.Load(
            draw.uniform(0.1, 0.4) * rt_load.US_PER_S / length_us,
            rt_load.US_PER_S / length_us)
        target = rt_load.Target(length_us * draw.uniform(10, 50), PERCENTILE)
        with contextlib.suppress(exception.NoAnswer):
            if planner.plan(planner.Question(
                    load, target, max_share=0.6, kernel=kernel)).share < 0.6:
                count -= 1
                yield load, target


def ask(port: int, load: rt_load.Load, count: int, seed: int) -> list[float]:
    """Sends requests at random times; returns the response times in us."""
    os.sched_setaffinity(0, {_CLIENT})
    draw = random.Random(seed)  # noqa: S311
    free: list[socket.socket] = []
    due: dict[socket.socket, float] = {}
    times: list[float] = []
    at = time.monotonic() + 0.1
    while len(times) < count:
        remaining = at - time.monotonic()
        sent = len(times) + len(due)
        if sent < count and remaining <= 0:
            client = free.pop() if free else socket.create_connection(
                ('127.0.0.1', port))
            client.sendall(_REQUEST.pack(
                draw.expovariate(load.service_rate_hz)))
            due[client] = at
            at += draw.expovariate(load.arrival_rate_hz)
            continue
        wait = max(0, remaining) if sent < count else None
        for client in select.select(list(due), [], [], wait)[0]:
            if not client.recv(4096):
                raise ConnectionError('the server ended before it answered')
            times.append((time.monotonic() - due.pop(client)) * 1e6)
            free.append(client)
    for client in free:
        client.close()
    return times


@contextlib.contextmanager
def serving(reservation: rt_reservation.Reservation
            ) -> Iterator[tuple[rt_group.Group, int]]:
    """Yields a server's group, and its port."""
    with rt_group.up(f'nova-rt-advice-{os.getpid()}', (_SERVER,),
                     reservation) as group:
        child = subprocess.Popen(
            group.command([sys.executable, '-S', '-c', _PROGRAM]), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        yield group, stand_ins.port_of(child)


@contextlib.contextmanager
def company() -> Iterator[None]:
    """Runs a busy group with a reservation, and an ordinary busy task."""
    with (rt_group.up(f'nova-rt-beside-{os.getpid()}', (_SERVER,), _BESIDE
                      ) as reserved,
          rt_group.up(f'nova-rt-busy-{os.getpid()}', (_SERVER,), None
                      ) as ordinary):
        for group in (reserved, ordinary):
            subprocess.Popen(group.command(_BUSY, is_load=True),
                             stdin=subprocess.DEVNULL)
        yield


def advised(load: rt_load.Load, target: rt_load.Target,
            kernel: rt_kernel.Kernel, seed: int) -> advice.ReservationAdvice:
    """Returns the advice from the monitor's numbers."""
    with serving(_AT_FIRST) as (group, port):
        granted = monitor_servers.Granted(
            _AT_FIRST.runtime_us, _AT_FIRST.period_us, of_group=True)
        watched = stand_ins.server('server', group.trees[0], granted)
        with (stand_ins.monitor(watched) as monitor,
              futures.ProcessPoolExecutor(1) as pool):
            client = pool.submit(ask, port, load, WATCHED, seed)
            looks, last = [], monitor.read()
            while not client.done():
                time.sleep(WATCHED / load.arrival_rate_hz / _LOOKS)
                now = monitor.read()
                looks.append(now.since(last))
                last = now
            client.result()
        return advice.advise(
            advise.measured_load(looks, 'server'), target, kernel)


def judged_us(load: rt_load.Load, wanted: rt_reservation.Reservation,
              seed: int) -> float:
    """Returns the percentile with the advised reservation."""
    with company(), serving(wanted) as (_, port), (
            futures.ProcessPoolExecutor(1)) as pool:
        times = pool.submit(ask, port, load, JUDGED, seed).result()
    return statistics.quantiles(times, n=1000)[int(PERCENTILE * 1000) - 1]


def main(argv: Sequence[str]) -> int:
    """Tests all servers and returns the exit status."""
    count, seed = [*map(int, argv), *(SERVERS, 1)[len(argv):]]
    kernel, _ = this_host.kernel(argparse.Namespace(kernel='auto',
                                                    tick_us=None))
    met = 0
    for number, (load, target) in enumerate(questions(count, seed, kernel)):
        try:
            found = advised(load, target, kernel, 1_000 * seed + number)
        except exception.NoAnswer as error:
            print(error, flush=True)
            continue
        reached = judged_us(load, found.wanted, 2_000 * seed + number)
        met += reached <= target.time_us
        print(f'{load.arrival_rate_hz:6.1f}/s of '
              f'{rt_load.US_PER_S / load.service_rate_hz:5.0f} us: p99 within '
              f'{target.time_us / 1000:6.2f} ms by {found.wanted}: '
              f'{reached / 1000:6.2f} ms', flush=True)
    print(f'{met} of {count} meet their target')
    return 0 if met >= MET * count else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
