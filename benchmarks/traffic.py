# SPDX-License-Identifier: Apache-2.0

"""Compares the monitor's transactions with the notes of both ends.

usage: .venv/bin/python -m benchmarks.traffic [seconds of each case]

A server and a client (traffic.c) note the times of each request.  Compared
with the notes, the monitor's count and bytes must be equal, the mean within 1
%, and p50, p75, p90, p99 and p99.9 within 2 %.  The client's time begins
before the client sends, and ends after the client has read everything.  The
server's time begins with the kernel's stamp on the request's packet, and ends
after the last byte is sent.  An extra 2 us is allowed, because the clocks are
not read at the same time.  Needs root, cc and cgroup v1; exits with 1 if a
requirement is missed.
"""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import ipaddress
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from benchmarks import stand_ins
from rt_monitor import histogram
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions

SOURCE = pathlib.Path(__file__).with_suffix('.c')
PARTS = (0.5, 0.75, 0.9, 0.99, 0.999)
MEAN, PART = 0.01, 0.02
#: The allowed time between a clock here and a clock of the kernel.
APART_NS = 2_000
_SECONDS = 20
#: CPUs.  On one CPU the woken end would run before the other reads its clock.
SERVER_CPU, CLIENT_CPU = 0, 1
_LOCALHOST = ipaddress.IPv4Address('127.0.0.1')


@dataclasses.dataclass(frozen=True)
class Case:
    """The requests of one case.

    :ivar rate_hz: requests a second, at random times
    :ivar count: number of requests
    :ivar asked, answered: bytes of each request and answer
    :ivar work_us: CPU time of the server for each
    """

    rate_hz: int
    count: int
    connections: int = 8
    asked: int = 100
    answered: int = 100
    sendfile: bool = False
    work_us: int = 20

    def __str__(self) -> str:
        return (f'{self.rate_hz}/s, {self.connections} connections, '
                f'{self.answered} B' + ' by sendfile' * self.sendfile)


@dataclasses.dataclass(frozen=True)
class Side:
    """The notes of one end, and the monitor's values; in ns, ascending."""

    role: transactions.Role
    noted_ns: Sequence[int]
    seen: transactions.Edge


def exchange(case: Case) -> tuple[Side, Side]:
    """Returns the server's and the client's side of a case."""
    with tempfile.TemporaryDirectory() as folder:
        program = stand_ins.compiled(SOURCE, folder)
        with stand_ins.groups('server', 'client') as groups, (
                stand_ins.monitor(*(
                    stand_ins.server(name, group)
                    for name, group in groups.items()))) as monitor:
            before = monitor.read()
            port = _run(program, folder, case, groups)
            now = monitor.read().since(before)
            end = time.monotonic() + _SECONDS
            while (any(_edge(now.answered, role, port).took.count < case.count
                       for role in transactions.Role)
                   and time.monotonic() < end):
                time.sleep(0.05)
                now = monitor.read().since(before)
        return (_side(transactions.Role.SERVER, f'{folder}/server', 4, now,
                      port),
                _side(transactions.Role.CLIENT, f'{folder}/client', 2, now,
                      port))


def _run(program: str, folder: str, case: Case,
         groups: dict[str, pathlib.Path]) -> int:
    """Runs a case; returns the port of the server."""
    with stand_ins.running(
            groups['server'], program, 'server', *map(str, (
                _LOCALHOST, case.asked, case.answered, int(case.sendfile),
                case.work_us, f'{folder}/server')), cpu=SERVER_CPU) as server:
        port = stand_ins.port_of(server)
        subprocess.run(  # noqa: PLW1509
            [program, 'client', *map(str, (
                _LOCALHOST, port, case.connections, case.rate_hz, case.count,
                case.asked, case.answered, 1, f'{folder}/client'))],
            check=True,
            preexec_fn=stand_ins.joining(groups['client'], CLIENT_CPU))
    return port


def _edge(answered: Mapping[str, transactions.ServerTransactions],
          role: transactions.Role, port: int) -> transactions.Edge:
    return answered[role.name.lower()].edges.get(
        transactions.Peer(role, _LOCALHOST, port), transactions.Edge())


def _side(role: transactions.Role, path: str, width: int,
          window: monitor_snapshot.Snapshot, port: int) -> Side:
    times = struct.iter_unpack(f'={width}q', pathlib.Path(path).read_bytes())
    return Side(role, sorted(one[-1] - one[0] for one in times),
                _edge(window.answered, role, port))


def compare(noted_ns: Sequence[int], seen: histogram.Histogram
            ) -> Iterator[tuple[str, float, float, float]]:
    """Yields the name, both values in ns, and the allowed error."""
    mean = sum(noted_ns) / len(noted_ns)
    yield 'mean', mean, seen.mean_ns, MEAN
    for part in PARTS:
        rank = math.ceil(part * len(noted_ns))
        yield (f'p{part * 100:g}', noted_ns[rank - 1],
               seen.quantile_ns(part), PART)


def within(noted: float, seen: float, most: float) -> bool:
    """Returns whether the seen values are near enough to the notes."""
    return abs(seen - noted) <= most * noted + APART_NS


def _report(case: Case, side: Side) -> bool:
    ours = side.seen
    bytes_in, bytes_out = case.asked, case.answered
    if side.role is transactions.Role.CLIENT:
        bytes_in, bytes_out = bytes_out, bytes_in
    met = ((len(side.noted_ns), ours.received, ours.sent)
           == (ours.took.count, case.count * bytes_in,
               case.count * bytes_out))
    print(f'{case}, {side.role.name.lower()}: {ours.took.count} of '
          f'{len(side.noted_ns)}, bytes {"equal" if met else "DIFFER"}')
    for name, noted, value, most in compare(side.noted_ns, ours.took):
        near = within(noted, value, most)
        met &= near
        print(f'  {name:6} {noted / 1000:10.1f} us, seen '
              f'{value / 1000:10.1f} us, {value / noted - 1:+7.2%}'
              + ('' if near else ' MISSED'), flush=True)
    return met


def main() -> int:
    """Runs all cases and returns the exit status."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    cases = (
        Case(1_000, int(1_000 * seconds)),
        Case(8_000, int(8_000 * seconds)),
        Case(8_000, int(8_000 * seconds), connections=500),
        Case(1_000, int(1_000 * seconds), answered=200_000),
        Case(1_000, int(1_000 * seconds), connections=500,
             answered=200_000, sendfile=True))
    met = [_report(case, side) for case in cases for side in exchange(case)]
    return 0 if all(met) else 1


if __name__ == '__main__':
    sys.exit(main())
