# SPDX-License-Identifier: Apache-2.0

"""Measures what the monitor costs the servers that it watches.

usage: .venv/bin/python -m benchmarks.monitor [ROUNDS] [WHAT...]

WHAT is switch, request, ep, cg or mg; by default, all of them.  The benchmark
measures the CPU time of a context switch (two processes that pass a byte to
and fro on one CPU), of a request over loopback and its answer, and of the
loads of loads.c, in a watched group.  Runs with the monitor's programs and
runs without them alternate, because disturbances come and go.  Each line has
the difference of the minimums, the median of the differences of the rounds,
and the 95 % interval of the true median.  If the limit is within the interval,
the line says "too noisy".  Each load runs for about 50 ms before its CPU time
counts, because attaching leaves the caches cold.  Needs root, gcc and cgroup
v1; exits with 1 for a context switch above 300 ns, a request above 800 ns at
each end, or a load 0.5 % slower, unless too noisy.
"""

import argparse
from collections.abc import Callable
import contextlib
import math
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

from benchmarks import stand_ins
from rt_monitor import objects
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import transactions

ROUNDS = 20
LIMIT_NS, REQUEST_NS, LIMIT_PART = 300, 800, 0.005
EXCHANGES = 20_000
REQUESTS = 8_000
#: Each exchange is two switches.
SWITCHES = 2 * EXCHANGES
CPU = 1
#: A load repeats slices of about 5 ms.  The first slices only warm the caches,
#: which attaching leaves cold.  With the programs, the first slice of MG is
#: 8 % slower, the fifth 1 %, and the tenth as fast as later slices.
WARMING, SLICES = 9, 12
#: Loads have more pairs of windows in a round, because loads are noisier.
PAIRS_A_ROUND = 50
LOAD_NAMES = ('ep', 'cg', 'mg')
LOADS = pathlib.Path(__file__).with_name('loads.c')
GROUP = pathlib.Path('/sys/fs/cgroup/cpu/nova-rt-bench-monitor')


def ping_pong() -> None:
    """Passes a byte to a child and back."""
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        for _ in range(EXCHANGES):
            os.read(there[0], 1)
            os.write(back[1], b'x')
        os._exit(0)
    for _ in range(EXCHANGES):
        os.write(there[1], b'x')
        os.read(back[0], 1)
    os.waitpid(child, 0)


def requests() -> None:
    """Asks over loopback, answers and reads the answer, in one process."""
    with socket.create_server(('127.0.0.1', 0)) as listener, (
            socket.create_connection(listener.getsockname())) as client:
        server, _ = listener.accept()
        for _ in range(REQUESTS):
            client.sendall(bytes(100))
            server.recv(100)
            server.sendall(bytes(1000))
            client.recv(1000)
        server.close()


def cpu_s(load: Callable[[], None]) -> float:
    """Returns the CPU time of a load in a process of its own, in s."""
    child = os.fork()
    if not child:
        (GROUP / 'cgroup.procs').write_text('0')
        os.sched_setaffinity(0, {CPU})
        load()
        os._exit(0)
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime


def watching(kind: type[objects.ProgramSource]) -> objects.ProgramSource:
    """Yields the monitor of the group once its programs are attached."""
    source = kind()
    source.apply(servers.Register().update([servers.Watched(
        'bench', {servers.WHOLE: os.stat(GROUP).st_ino})]))
    source.object.detach()
    return source


def measure(load: Callable[[], float], rounds: int,
            kind: type[objects.ProgramSource] = sched.Scheduler
            ) -> tuple[list[float], list[float]]:
    """Returns CPU times without and with the programs, in s.

    The measurements without and with the programs take turns in being the
    first of a round.  The results with and without the programs both contain
    the after-effects of attaching and detaching.
    """
    without: list[float] = []
    under: list[float] = []
    with contextlib.closing(watching(kind)) as source:
        for number in range(rounds):
            for attached in (number % 2, 1 - number % 2):
                source.object.attach()
                source.object.detach()
                if attached:
                    source.object.attach()
                (under if attached else without).append(load())
                source.object.detach()
    return without, under


def interval(differences: list[float]) -> tuple[float, float]:
    """Returns the 95 % interval of the true median, by order statistics."""
    ranked, count = sorted(differences), len(differences)
    half = 1.96 * count ** 0.5 / 2
    return (ranked[max(0, int(count / 2 - half))],
            ranked[min(count - 1, math.ceil(count / 2 + half))])


def report(name: str, found: tuple[list[float], list[float]],
           unit: Callable[[float], float], shown: str, limit: float) -> bool:
    """Prints a line; returns False if the cost is surely above the limit."""
    without, under = found
    differences = [unit(b - a) for a, b in zip(without, under, strict=True)]
    least = unit(min(under) - min(without))
    low, high = interval(differences)
    noisy = low <= limit < high
    print(f'{name}: minimum {least:+{shown}}, median '
          f'{statistics.median(differences):+{shown}}, surely between '
          f'{low:+{shown}} and {high:+{shown}}, at most {limit:{shown}}'
          + (': too noisy' if noisy else ''), flush=True)
    return low <= limit


def switches(rounds: int) -> bool:
    """Measures context switches; returns whether the cost is allowed."""
    return report('context switch, ns', measure(
        lambda: cpu_s(ping_pong), rounds),
        lambda extra: extra / SWITCHES * 1e9, '.0f', LIMIT_NS)


def transaction(rounds: int) -> bool:
    """Measures a request; returns whether the cost is allowed."""
    return report('request, each end, ns', measure(
        lambda: cpu_s(requests), rounds, transactions.Transactions),
        lambda extra: extra / REQUESTS / 2 * 1e9, '.0f', REQUEST_NS)


def computing(program: str, name: str, rounds: int) -> bool:
    """Measures a load; returns whether the cost is allowed."""
    with subprocess.Popen(  # noqa: PLW1509
            [program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=stand_ins.joining(GROUP, CPU)) as child:
        if not child.stdin or not child.stdout:
            raise ValueError('it has no pipes')
        asks, answers = child.stdin, child.stdout

        def load() -> float:
            os.write(asks.fileno(), b'x' * (WARMING + SLICES))
            used_ns = [int(answers.readline())
                       for _ in range(WARMING + SLICES)]
            return statistics.fmean(used_ns[WARMING:]) / 1e9

        times = measure(load, PAIRS_A_ROUND * rounds)
        asks.close()
    return report(f'load {name}', times, lambda extra: extra / min(times[0]),
                  '.2%', LIMIT_PART)


def one(what: str, rounds: int) -> bool:
    """Measures one thing; returns whether the cost is allowed."""
    if what == 'switch':
        return switches(rounds)
    if what == 'request':
        return transaction(rounds)
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/loads'
        subprocess.run(['gcc', '-O2', '-o', program, LOADS], check=True)
        return computing(program, what, rounds)


def main() -> int:
    """Runs the measurements and returns the exit status."""
    choices = ('switch', 'request', *LOAD_NAMES)
    parser = argparse.ArgumentParser(prog='python -m benchmarks.monitor')
    parser.add_argument('rounds', type=int, nargs='?', default=ROUNDS)
    parser.add_argument('what', nargs='*', choices=[[], *choices], default=[])
    args = parser.parse_args()
    GROUP.mkdir()
    try:
        within = [one(what, args.rounds) for what in args.what or choices]
    finally:
        GROUP.rmdir()
    return 0 if all(within) else 1


if __name__ == '__main__':
    sys.exit(main())
