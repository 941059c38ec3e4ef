# SPDX-License-Identifier: Apache-2.0

"""Compares the predicted and the real saturation rate of a chain of servers.

usage: .venv/bin/python -m benchmarks.chain

Three servers have a limit of CPU time each, and each asks the next one for
every request.  At a third of their load the monitor predicts the rate at which
the first of them saturates (Eq. 5).  Then the load is raised in steps until no
more requests are answered.  The two rates must be within 5 %.  Needs root, cc
and cgroup v1; exits with 1 if they are not.
"""

from collections.abc import Iterator
import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks import stand_ins
from benchmarks import traffic
from rt_monitor import operational
from rt_monitor import servers
from rt_monitor import transactions

PERIOD_US = 20_000
#: The CPU of each tier in a period, and the ms of it that a request takes.
TIERS = {'web': (10_000, 0.8), 'logic': (6_000, 2.0), 'data': (10_000, 1.5)}
CONNECTIONS, ASKED, ANSWERED = 16, 100, 1_000
LOW_HZ, LOW_S, STEP_S = 50, 10, 4
STEPS = (0.7, 0.85, 0.95, 1.05, 1.2)
MOST = 0.05

#: Works for each request and asks the next tier, if there is one.
TIER = '''
import socket, sys, threading, time
work, after, asked, answered = map(float, sys.argv[1:])
def whole(connection, left):
    while left:
        got = len(connection.recv(int(left)))
        if not got:
            return False
        left -= got
    return True
def serve(connection):
    below = socket.create_connection(('127.0.0.1', int(after))
                                     ) if after else None
    while whole(connection, asked):
        until = time.thread_time() + work / 1000
        while time.thread_time() < until:
            pass
        if below:
            below.sendall(bytes(int(asked)))
            whole(below, answered)
        connection.sendall(bytes(int(answered)))
with socket.create_server(('127.0.0.1', 0), backlog=64) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],),
                         daemon=True).start()
'''


@contextlib.contextmanager
def chain(groups: dict[str, pathlib.Path]) -> Iterator[int]:
    """Yields the port of the first tier."""
    with contextlib.ExitStack() as stack:
        port = 0
        for name, (quota, work) in reversed(TIERS.items()):
            (groups[name] / 'cpu.cfs_period_us').write_text(str(PERIOD_US))
            (groups[name] / 'cpu.cfs_quota_us').write_text(str(quota))
            child = stack.enter_context(stand_ins.running(
                groups[name], sys.executable, '-c', TIER,
                *map(str, (work, port, ASKED, ANSWERED))))
            port = stand_ins.port_of(child)
        yield port


def ask(program: str, folder: str, port: int, rate_hz: float, seconds: float
        ) -> float:
    """Sends requests at a rate; returns how many a second were answered."""
    count = int(rate_hz * seconds)
    begun = time.monotonic()
    subprocess.run([program, 'client', *map(str, (
        '127.0.0.1', port, CONNECTIONS, rate_hz, count, ASKED, ANSWERED, 1,
        f'{folder}/client'))], check=True)
    return count / (time.monotonic() - begun)


def told_hz(program: str, folder: str, groups: dict[str, pathlib.Path],
            port: int) -> float:
    """Returns the predicted saturation rate, measured at a low rate."""
    watched = [stand_ins.server(name, group, servers.Granted(
        TIERS[name][0], PERIOD_US)) for name, group in groups.items()]
    with stand_ins.monitor(*watched) as monitor:
        before = monitor.read()
        ask(program, folder, port, LOW_HZ, LOW_S)
        window = monitor.read().since(before)
    used = {one.uuid: operational.Centre(
        window.usages[one.uuid].whole.totals.ran / 1e9 / window.span_s, 1, 1,
        one.reservation.share if one.reservation else None
    ).tightest for one in watched}
    count = window.answered['web'].total(transactions.Role.SERVER).took.count
    rate = operational.saturation_rate_hz(used, count / window.span_s)
    if rate is None:
        raise SystemExit('the chain got no requests')
    print(f'At {count / window.span_s:.1f} a second: ' + ', '.join(
        f'{name} {part:.1%}' for name, part in used.items())
        + f' of what they may use; {rate[1]} saturates at {rate[0]:.1f}')
    return rate[0]


def main() -> int:
    """Compares both rates and returns the exit status."""
    with (tempfile.TemporaryDirectory() as folder,
          stand_ins.groups(*TIERS) as groups, chain(groups) as port):
        program = stand_ins.compiled(traffic.SOURCE, folder)
        rate = told_hz(program, folder, groups, port)
        reached = []
        for step in STEPS:
            reached.append(ask(program, folder, port, step * rate, STEP_S))
            print(f'  {step * rate:.1f} asked, {reached[-1]:.1f} answered '
                  f'a second', flush=True)
    error = rate / max(reached) - 1
    print(f'Told {rate:.1f}, reached {max(reached):.1f} a second: '
          f'{error:+.1%}, at most {MOST:.0%}')
    return 0 if abs(error) <= MOST else 1


if __name__ == '__main__':
    sys.exit(main())
