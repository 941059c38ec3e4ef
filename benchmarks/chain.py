# SPDX-License-Identifier: Apache-2.0

"""Compares the predicted and the real saturation rate of a chain of servers.

usage: .venv/bin/python -m benchmarks.chain [--busy N] [--reserved]
    [--data FILE]

Each of three servers has a limit of CPU time, or a reservation on one CPU, and
sends a request to the next server for every request that it gets.  At a third
of their load the monitor predicts the rate at which the first of them
saturates (Eq. 5), estimates the rate beside the present neighbours, and says
the rate at worst: a quota is not a guarantee, so only the rate that is served
already is sure.  Then the load is raised in steps until no more requests are
answered.  The rate that is reached must be at most 5 % below the rate at worst
and at most 5 % above that of Eq. 5.  Needs root, cc and cgroup v1, and
RT_GROUP_SCHED if there are reservations; exits with 1 if the rate is outside
of these limits.
"""

import argparse
from collections.abc import Iterator
import contextlib
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks import stand_ins
from benchmarks import traffic
from nova_rt.rules import reservation as rt_reservation
from rt_models.colocation import csvfile
from rt_monitor import operational
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions

PERIOD_US = 20_000
#: The CPU of each tier in a period, and the ms of it that a request takes.
TIERS = {'web': (10_000, 0.8), 'logic': (6_000, 2.0), 'data': (10_000, 1.5)}
#: The same with a reservation: the periods differ, so that nova-rt sells the
#: three on one CPU of RT_GROUP_SCHED.  The priorities follow the periods.
RESERVED = {'web': (10_000, 50_000, 30), 'logic': (60_000, 200_000, 25),
            'data': (150_000, 500_000, 20)}
#: The budget of the group of all three.
ALL = rt_reservation.Reservation(9_000, 10_000)
SERVER_CPU, CLIENT_CPU = 0, 1
CONNECTIONS, ASKED, ANSWERED = 16, 100, 1_000
LOW_HZ, LOW_S, STEP_S = 50, 10, 4
STEPS = (0.7, 0.85, 0.95, 1.05, 1.2)
MOST = 0.05
#: Rates are in requests a second.  Predicted are least_hz at worst, beside_hz
#: beside the present neighbours, and most_hz by Eq. 5 for servers that lose
#: nothing.
COLUMNS = ('started', 'held', 'busy', 'load_average', 'least_hz', 'beside_hz',
           'most_hz', 'reached_hz')
QUOTA, RESERVATION = 'quota', 'reservation'

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


def granted(held: str, name: str) -> servers.Granted:
    """Returns what a tier may use."""
    if held == QUOTA:
        return servers.Granted(TIERS[name][0], PERIOD_US)
    return servers.Granted(*RESERVED[name][:2])


@contextlib.contextmanager
def chain(groups: dict[str, pathlib.Path], held: str) -> Iterator[int]:
    """Yields the port of the first tier."""
    if held == RESERVATION:
        _budget(stand_ins.TOP, servers.Granted(ALL.runtime_us, ALL.period_us))
    with contextlib.ExitStack() as stack:
        port = 0
        for name, (_, work) in reversed(TIERS.items()):
            (_limit if held == QUOTA else _budget)(
                groups[name], granted(held, name))
            child = stack.enter_context(stand_ins.running(
                groups[name], sys.executable, '-c', TIER,
                *map(str, (work, port, ASKED, ANSWERED)),
                cpu=None if held == QUOTA else SERVER_CPU))
            port = stand_ins.port_of(child)
            if held == RESERVATION:
                # The threads of the tier, which begin later, inherit this.
                os.sched_setscheduler(child.pid, os.SCHED_RR, os.sched_param(
                    RESERVED[name][2]))
        yield port


def _limit(group: pathlib.Path, what: servers.Granted) -> None:
    (group / 'cpu.cfs_period_us').write_text(str(what.period_us))
    (group / 'cpu.cfs_quota_us').write_text(str(what.runtime_us))


def _budget(group: pathlib.Path, what: servers.Granted) -> None:
    (group / 'cpu.rt_period_us').write_text(str(what.period_us))
    (group / 'cpu.rt_runtime_us').write_text(str(what.runtime_us))


def ask(program: str, folder: str, port: int, rate_hz: float, seconds: float,
        held: str) -> float:
    """Sends requests at a rate; returns the rate of answers."""
    count = int(rate_hz * seconds)
    begun = time.monotonic()
    client = () if held == QUOTA else (
        'chrt', '--fifo', '40', 'taskset', '--cpu-list', str(CLIENT_CPU))
    subprocess.run([*client, program, 'client', *map(str, (
        '127.0.0.1', port, CONNECTIONS, rate_hz, count, ASKED, ANSWERED, 1,
        f'{folder}/client'))], check=True)
    return count / (time.monotonic() - begun)


def told_hz(program: str, folder: str, groups: dict[str, pathlib.Path],
            port: int, held: str) -> tuple[float, float, float]:
    """Returns the predicted saturation rates, measured at a low rate.

    :returns: at worst, beside the present neighbours, and by Eq. 5
    """
    watched = [stand_ins.server(name, group, granted(held, name))
               for name, group in groups.items()]
    with stand_ins.monitor(*watched) as monitor:
        before = monitor.read()
        ask(program, folder, port, LOW_HZ, LOW_S, held)
        window = monitor.read().since(before)
    centres = {one.uuid: _centre(window, one) for one in watched}
    count = window.answered['web'].total(transactions.Role.SERVER).took.count
    worst = {uuid: centre.at_worst if held == RESERVATION else 1.0
             for uuid, centre in centres.items()}
    least, beside, most = (
        operational.saturation_rate_hz(used, count / window.span_s)
        for used in (worst, {uuid: centre.beside for uuid, centre
                             in centres.items()},
                     {uuid: centre.tightest for uuid, centre
                      in centres.items()}))
    if least is None or beside is None or most is None:
        raise SystemExit('the chain got no requests')
    print(f'At {count / window.span_s:.1f} a second: ' + ', '.join(
        f'{name} {one.tightest:.1%} of what it may use, {one.beside:.1%} '
        f'with what it loses' for name, one in centres.items()))
    return least[0], beside[0], most[0]


def _centre(window: monitor_snapshot.Snapshot, one: servers.Watched
            ) -> operational.Centre:
    usage = window.usages[one.uuid].whole
    return operational.Centre(
        usage.totals.ran / 1e9 / window.span_s, 1, 1,
        one.reservation.share if one.reservation else None,
        usage.lost_ns / 1e9 / window.span_s)


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Runs busy ordinary processes."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            child = stack.enter_context(subprocess.Popen(
                [sys.executable, '-c', 'while True: pass']))
            stack.callback(child.kill)
        yield


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='See the module.')
    parser.add_argument('--busy', type=int, default=0, metavar='N',
                        help='busy processes beside the chain')
    parser.add_argument('--reserved', action='store_const', dest='held',
                        const=RESERVATION, default=QUOTA, help='give each '
                        'server a reservation in place of a quota')
    parser.add_argument('--data', type=pathlib.Path, metavar='FILE',
                        help='a CSV file to which the result is added')
    return parser.parse_args()


def main() -> int:
    """Compares the rates and returns the exit status."""
    options = _options()
    # So no group of ours keeps its budget.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with (tempfile.TemporaryDirectory() as folder, neighbours(options.busy),
          stand_ins.groups(*TIERS) as groups,
          chain(groups, options.held) as port):
        program = stand_ins.compiled(traffic.SOURCE, folder)
        least, beside, most = told_hz(program, folder, groups, port,
                                      options.held)
        reached = []
        for step in STEPS:
            reached.append(ask(program, folder, port, step * most, STEP_S,
                               options.held))
            print(f'  {step * most:.1f} asked, {reached[-1]:.1f} answered '
                  f'a second', flush=True)
    found = max(reached)
    if options.data:
        csvfile.append(options.data, COLUMNS, [
            f'{datetime.datetime.now(datetime.UTC):%FT%H:%MZ}', options.held,
            options.busy, *map(csvfile.short, (
                os.getloadavg()[0], least, beside, most, found))])
    print(f'Predicted at least {least:.1f}, at most {most:.1f}, beside the '
          f'neighbours {beside:.1f}, reached {found:.1f} a second '
          f'({found / most - 1:+.1%} and {found / beside - 1:+.1%})')
    return 0 if least * (1 - MOST) <= found <= most * (1 + MOST) else 1


if __name__ == '__main__':
    sys.exit(main())
