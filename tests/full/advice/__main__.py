# SPDX-License-Identifier: Apache-2.0

"""Compares the advice with the least that meets the target.

usage: .venv/bin/python -m tests.full.advice [--seconds S] [--only SERVER ...]

Each server has a budget on RT_GROUP_SCHED beside a busy neighbour that has the
rest.  Exits with 1 unless the advice meets the target for each server and is
at most 1.25 times the smallest budget that does.  A target is 30 times the
CPU time of a request, and requests ask for a fifth of a CPU.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping
import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from nova_rt.rules import reservation as rt_reservation
from paper.probe import stage as rt_stage
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_monitor import servers
from rt_monitor import snapshot
from rt_operate import advice as rt_advice
from rt_operate.commands import advise
from tests.full.advice import programs
from tests.full.probe import places
from tests.full.signals import sick

_CPU, _UUID = 1, 'watched'
_PARTS = 30
_START = rt_reservation.Reservation(12_000, 20_000)
_GROUPS = pathlib.Path('/sys/fs/cgroup/cpu')
#: The runtime of the server and its neighbour together, and a runtime that
#: fits into every period.
_ROOM, _LEAST_US = 0.9, 1_000
_KERNEL = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4_000)
#: The targets in mean CPU times, and the part of the whole CPU that is asked
#: for.
_LONG, _ASKED = 30.0, 0.2
#: Each step is this much smaller than the step before.
_STEP, _STEPS = 1.12, 9
#: The advice is at most this many times the smallest budget that meets the
#: target.
_MOST = 1.25


class Bench:
    """A server in a group, a neighbour beside it, and clients."""

    def __init__(self, name: str, port: int, seconds: float,
                 percentile: float) -> None:
        self._name, self._port = name, port
        self._seconds, self._part = seconds, percentile

    def look(self, has: rt_reservation.Reservation, rate_hz: float
             ) -> rt_advice.MeasuredLoad:
        """Returns what the monitor sees of the server with a reservation."""
        _reserve({self._name: has.share,
                  f'{self._name}-other': max(0.05, _ROOM - has.share)},
                 has.period_us)
        watched = servers.Watched(
            _UUID, {servers.WHOLE: os.stat(
                f'/sys/fs/cgroup/cpu/{self._name}').st_ino}, 1, 'web',
            reservation=servers.Granted(has.runtime_us, has.period_us,
                                        of_group=True))
        with (contextlib.closing(snapshot.Monitor()) as monitor,
              self._clients(rate_hz)):
            monitor.watch([watched])
            time.sleep(0.5)
            looks, before = [], monitor.read()
            for _ in range(_PARTS):
                time.sleep(self._seconds / _PARTS)
                now = monitor.read()
                looks.append(now.since(before))
                before = now
        return advise.measured_load(looks, _UUID)

    @contextlib.contextmanager
    def _clients(self, rate_hz: float) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(
            self._send(stop, rate_hz)))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    async def _send(self, stop: threading.Event, rate_hz: float) -> None:
        os.sched_setaffinity(0, {1 - _CPU})
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)
        rng, due = random.Random(1), time.monotonic()  # noqa: S311
        asked: set[asyncio.Task[None]] = set()
        while not stop.is_set():
            due += rng.expovariate(rate_hz)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(self._ask())
            asked.add(task)
            task.add_done_callback(asked.discard)
        for task in asked:
            task.cancel()

    async def _ask(self) -> None:
        reader, writer = await asyncio.open_connection(
            '127.0.0.1', self._port)
        writer.write(b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n'
                     b'\r\n')
        await reader.read()
        writer.close()


@contextlib.contextmanager
def _serving(name: str, command: list[str], port: int) -> Iterator[None]:
    other = f'{name}-other'
    with places.groups(name, other), contextlib.ExitStack() as stack:
        _reserve({name: _START.share, other: 0.3}, _START.period_us)
        busy = stack.enter_context(rt_stage.task(cpus={_CPU}))
        places.put(other, busy.pid)
        server = subprocess.Popen(
            [*places.entering(name), 'taskset', '-c', str(_CPU), *command])
        stack.callback(server.wait)
        stack.callback(server.kill)
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(
                    ('127.0.0.1', port)):
                break
            if time.monotonic() > end:
                raise TimeoutError(f'{command[0]} does not listen')
            time.sleep(0.1)
        for group in (name, other):
            sick.make_real_time(_GROUPS / group)
        yield


def _reserve(shares: Mapping[str, float], period_us: int) -> None:
    """Gives groups shares of a period, whatever budgets they had."""
    for name in shares:
        (_GROUPS / name / 'cpu.rt_runtime_us').write_text(str(_LEAST_US))
    for name, share in shares.items():
        (_GROUPS / name / 'cpu.rt_period_us').write_text(str(period_us))
        (_GROUPS / name / 'cpu.rt_runtime_us').write_text(
            str(round(share * period_us)))


def _measure(title: str, command: list[str], port: int,
             args: argparse.Namespace) -> tuple[bool, str]:
    """Returns whether the advice is good, and a line about it."""
    name = f'nova-rt-advice-{os.getpid()}'
    with _serving(name, command, port):
        bench = Bench(name, port, args.seconds, args.percentile)
        first = bench.look(_START, 20)
        rate_hz = _ASKED * rt_load.US_PER_S / first.cpu_us
        measured = bench.look(_START, rate_hz)
        target = rt_load.Target(_LONG * measured.cpu_us, args.percentile)
        advised = rt_advice.advise(measured, target, _KERNEL)
        wanted, least, reached = advised.wanted, None, []
        for step in range(_STEPS):
            share = wanted.share * 1.12 / _STEP ** step
            if share < 1.05 * _ASKED:
                break
            has = rt_reservation.Reservation(
                round(min(0.9, share) * wanted.period_us), wanted.period_us)
            took = bench.look(has, rate_hz).took.quantile_ns(
                args.percentile) / 1000
            reached.append(f'{has.share:.3f}: {took / 1000:.1f} ms')
            if took > target.time_us:
                break
            least = has.share
    ratio = f'{wanted.share / least:.2f}' if least else '-'
    # The first step is larger than the advice.
    good = least is not None and 0.99 <= wanted.share / least <= _MOST
    return good, (
        f'{"good" if good else "BAD"}, {title}: '
        f'{measured.cpu_us / 1000:.2f} ms at {rate_hz:.0f}/s, '
        f'variation {advised.variation:.2f}, target '
        f'{target.time_us / 1000:.1f} ms; now '
        f'{advised.measured_us / 1000:.1f} ms, '
        f'{"met" if advised.met else "missed"}; advice {wanted.share:.3f} '
        f'of {wanted.period_us} us, least that met it {least or 0:.3f}, '
        f'ratio {ratio}; {"; ".join(reached)}')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0)
    parser.add_argument('--percentile', type=float, default=0.95)
    parser.add_argument('--only', action='append')
    args, bad = parser.parse_args(), 0
    # The test measures the servers, and not how late this process reads.
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for title, command in programs.commands(folder, port).items():
            if args.only and title not in args.only:
                continue
            if title == 'Go':
                subprocess.run(['go', 'build', '-o', folder / 'go',
                                folder / 'go.go'], check=True)
            good, line = _measure(title, command, port, args)
            print(line, flush=True)
            bad += not good
    return int(bad > 0)


if __name__ == '__main__':
    sys.exit(main())
