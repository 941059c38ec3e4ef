# SPDX-License-Identifier: Apache-2.0

"""Compares transactions from packets with the server's own notes.

usage: .venv/bin/python -m benchmarks.taps [requests]

The server (traffic.c) is in a network namespace, whose interface on this host
is watched like the tap of a virtual machine.  Count and bytes must be equal,
and p99 must be within 3 % of the server's notes.  The notes measure from the
stamp on the request's packet to the time after the last byte is sent.  Needs
root, cc, ip and nsenter; exits with 1 if a requirement is missed.
"""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import ipaddress
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

from benchmarks import stand_ins
from benchmarks import traffic
from rt_monitor import servers
from rt_monitor import tap
from rt_monitor import transactions

HERE, THERE = ipaddress.IPv4Address('10.254.77.1'), ipaddress.IPv4Address(
    '10.254.77.2')
MOST = 0.03
UUID = 'guest'
_CASE = traffic.Case(2_000, 10_000)
_CASES = (_CASE, dataclasses.replace(_CASE, connections=100),
          dataclasses.replace(_CASE, answered=200_000, rate_hz=500))


def _ip(*words: str, inside: int | None = None) -> None:
    enter = ['nsenter', '-t', str(inside), '-n'] if inside else []
    subprocess.run([*enter, 'ip', *words], check=True)


@contextlib.contextmanager
def namespace(name: str = f'nrt{os.getpid()}') -> Iterator[int]:
    """Yields a process in a network namespace with the address THERE."""
    child = subprocess.Popen(
        ['unshare', '-n', 'sh', '-c', 'echo 0; exec sleep 600'], text=True,
        stdout=subprocess.PIPE)
    try:
        stand_ins.port_of(child)  # The process is in its namespace now.
        _ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0',
            'netns', str(child.pid))
        _ip('addr', 'add', f'{HERE}/30', 'dev', name)
        _ip('link', 'set', name, 'up')
        _ip('addr', 'add', f'{THERE}/30', 'dev', 'eth0', inside=child.pid)
        _ip('link', 'set', 'eth0', 'up', inside=child.pid)
        yield child.pid
        # It would also go with the namespace, but later.
        _ip('link', 'del', name)
    finally:
        child.kill()
        child.communicate()


class Watched:
    """The interface of a namespace, watched as the tap of a server.

    :ivar source: the source that reads it
    """

    def __init__(self, name: str = f'nrt{os.getpid()}') -> None:
        self.source = tap.Taps()
        self._attacher = tap.Attacher(self.source)
        server = servers.Watched(UUID, {}, taps=(socket.if_nametoindex(name),),
                                 sockets=False)
        self.register = servers.Register()
        self.source.apply(self.register.update([server]))
        self.source.point(self.register)
        self._attacher.follow([server])

    def close(self) -> None:
        """Stops watching."""
        self._attacher.follow([])
        self.source.close()

    def edge(self, peer: ipaddress.IPv4Address, role: transactions.Role,
             port: int) -> transactions.Edge:
        """Returns the monitor's exchanges of the server with a peer."""
        return self.source.read(self.register)[UUID].edges.get(
            transactions.Peer(role, peer, port), transactions.Edge())


def exchange(case: traffic.Case) -> tuple[Sequence[int], transactions.Edge]:
    """Returns the server's notes in ns, ascending, and what was seen."""
    with (tempfile.TemporaryDirectory() as folder, namespace() as inside,
          contextlib.closing(Watched()) as watched):
        program = stand_ins.compiled(traffic.SOURCE, folder)
        with subprocess.Popen(  # noqa: PLW1509
                ['nsenter', '-t', str(inside), '-n', program, 'server',
                 *map(str, (THERE, case.asked, case.answered,
                            int(case.sendfile), case.work_us,
                            f'{folder}/server'))],
                text=True, stdout=subprocess.PIPE,
                preexec_fn=lambda: os.sched_setaffinity(
                    0, {traffic.SERVER_CPU})) as server:
            try:
                port = stand_ins.port_of(server)
                subprocess.run([program, 'client', *map(str, (  # noqa: PLW1509
                    THERE, port, case.connections, case.rate_hz, case.count,
                    case.asked, case.answered, 1, f'{folder}/client'))],
                    check=True, preexec_fn=lambda: os.sched_setaffinity(
                        0, {traffic.CLIENT_CPU}))
            finally:
                server.terminate()
        times = struct.iter_unpack(
            '=4q', pathlib.Path(f'{folder}/server').read_bytes())
        return (sorted(one[3] - one[0] for one in times),
                watched.edge(HERE, transactions.Role.SERVER, port))


def report(case: traffic.Case, noted: Sequence[int],
           seen: transactions.Edge) -> bool:
    """Prints a case; returns whether all values are within their limits."""
    met = (len(noted), case.count * case.asked,
           case.count * case.answered) == (
        seen.took.count, seen.received, seen.sent)
    print(f'{case}: {seen.took.count} of {len(noted)}, bytes '
          f'{"equal" if met else "DIFFER"}')
    for name, true, ours, _ in traffic.compare(noted, seen.took):
        near = traffic.within(true, ours, MOST)
        met &= near or name != 'p99'
        print(f'  {name:6} {true / 1000:10.1f} us, seen '
              f'{ours / 1000:10.1f} us, {ours / true - 1:+7.2%}', flush=True)
    return met


def main() -> int:
    """Runs all cases and returns the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _CASE.count
    cases = [dataclasses.replace(case, count=count) for case in _CASES]
    met = [report(case, *exchange(case)) for case in cases]
    return 0 if all(met) else 1


if __name__ == '__main__':
    sys.exit(main())
