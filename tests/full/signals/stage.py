# SPDX-License-Identifier: Apache-2.0

"""A server and its client in groups that are watched as two servers."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import os
import pathlib
import socket
import struct
import subprocess
import time

from benchmarks import stand_ins
from benchmarks import traffic
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from tests.full.signals import compare
from tests.full.signals import packages

HOST = '127.0.0.1'
_SECONDS = 30
#: If this many readings show no change, all exchanges are counted.
_QUIET = 4
_ATTEMPTS = 4
#: A state in ``/proc/net/tcp``.
_TIME_WAIT = '06'


def free_port() -> int:
    """Returns a port at which nobody listens."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


@dataclasses.dataclass(frozen=True)
class Stage:
    """The place where the servers run one after the other.

    :ivar folder: for configurations and logs; any user may enter it
    :ivar generator: the program of traffic.c
    """

    folder: pathlib.Path
    packages: packages.Packages
    groups: dict[str, pathlib.Path]
    monitor: monitor_snapshot.Monitor
    generator: str

    def file(self, name: str, text: str) -> str:
        """Writes a file; returns its path."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    @contextlib.contextmanager
    def serving(self, port: int, *command: str, group: str = 'server',
                cwd: str | None = None) -> Iterator[None]:
        """Runs a server until it listens, and ends it."""
        with open(self.folder / 'log', 'ab') as log:
            child = subprocess.Popen(  # noqa: PLW1509
                command, env=self.packages.environment, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, cwd=cwd,
                preexec_fn=stand_ins.joining(self.groups[group],
                                             traffic.SERVER_CPU))
            try:
                self._wait(child, port)
                yield
            finally:
                child.terminate()
                child.wait(_SECONDS)

    def _wait(self, child: 'subprocess.Popen[bytes]', port: int) -> None:
        end = time.monotonic() + _SECONDS
        listening = f':{port:04X} '
        while not any(
                listening in line and line.split()[3] == '0A'
                for name in ('tcp', 'tcp6')
                for line in pathlib.Path(f'/proc/net/{name}').open()):
            if child.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / 'log').read_text()[-2000:])
            time.sleep(0.02)

    def run(self, *command: str, group: str = 'client', data: bytes = b''
            ) -> str:
        """Runs a client to its end; returns its output."""
        return subprocess.run(  # noqa: PLW1509
            command, env=self.packages.environment, input=data,
            stdout=subprocess.PIPE, check=True, timeout=10 * _SECONDS,
            preexec_fn=stand_ins.joining(self.groups[group],
                                         traffic.CLIENT_CPU)
        ).stdout.decode(errors='replace')

    def watched(self, name: str, what: str,
                exchange: Callable[[], compare.Truth]) -> compare.Row:
        """Returns the line of an exchange.

        A client that loses its CPU notes a time that is too long.  Therefore
        times may be measured in several attempts, but counts only once.
        """
        for _ in range(_ATTEMPTS):
            row = self._watched(name, what, exchange)
            if not row.has_right_counts or row.verdict != 'wrong':
                break
        return row

    def _watched(self, name: str, what: str,
                 exchange: Callable[[], compare.Truth]) -> compare.Row:
        """Returns the line of an exchange, once all of it is counted."""
        before = self.monitor.read()
        truth = exchange()
        last, quiet = None, 0
        while quiet < _QUIET:
            now = self.monitor.read().since(before).answered
            both = tuple(now[end].total(role) for end, role in (
                ('server', transactions.Role.SERVER),
                ('client', transactions.Role.CLIENT)))
            quiet = quiet + 1 if both == last else 0
            last = both
            time.sleep(0.05)
        assert last is not None
        return compare.Row(name, what, truth, *last)

    def generate(self, port: int, request: bytes, answered: int, count: int,
                 rate_hz: int = 1_000, connections: int = 4) -> compare.Truth:
        """Sends requests over some connections, at random times."""
        path = self.folder / 'request'
        path.write_bytes(request)
        notes = self.folder / 'notes'
        self.run(self.generator, 'client', *map(str, (
            HOST, port, connections, rate_hz, count, len(request), answered,
            1, notes, path)))
        times = sorted(end - begun for begun, end in
                       struct.iter_unpack('=2q', notes.read_bytes()))
        return compare.Truth(len(times), len(times) * len(request),
                             len(times) * answered, times)

    def answer_to(self, port: int, request: bytes) -> int:
        """Returns how many bytes answer a request; tries it outside the stage.

        It ends when the server has closed the connection, because the monitor
        counts the request then.
        """
        with socket.create_connection((HOST, port)) as connection:
            own: int = connection.getsockname()[1]
            connection.sendall(request)
            connection.settimeout(0.5)
            size = 0
            with contextlib.suppress(TimeoutError):
                while got := connection.recv(1 << 16):
                    size += len(got)
        end = time.monotonic() + _SECONDS
        while _is_open(port, own):
            if time.monotonic() > end:
                raise TimeoutError(f'port {port} does not close {own}')
            time.sleep(0.02)
        return size

    def each(self, port: int, requests: Sequence[bytes], count: int,
             half: bool = False) -> compare.Truth:
        """Asks over a new connection each time; the server ends it."""
        program = self.file('each.py', _EACH)
        path = self.folder / 'request'
        path.write_bytes(b''.join(requests))
        size = self.run('python3', program, str(port), str(count), str(path),
                        str(int(half)))
        return compare.Truth(count * len(requests),
                             count * sum(map(len, requests)), int(size))


def _is_open(port: int, peer: int) -> bool:
    """Checks for open connections from a server to a client's port."""
    for name in ('tcp', 'tcp6'):
        for line in pathlib.Path(f'/proc/net/{name}').open():
            _, local, remote, state, *_ = line.split()
            if local.endswith(f':{port:04X}') and state != _TIME_WAIT and (
                    remote.endswith(f':{peer:04X}')):
                return True
    return False


_EACH = '''
import socket, sys
port, count, path, half = sys.argv[1:]
request = open(path, 'rb').read()
size = 0
for _ in range(int(count)):
    with socket.create_connection(('127.0.0.1', int(port))) as connection:
        connection.sendall(request)
        if int(half):
            connection.shutdown(socket.SHUT_WR)
        while got := connection.recv(1 << 16):
            size += len(got)
print(size)
'''


@contextlib.contextmanager
def stage(folder: pathlib.Path, names: list[str]) -> Iterator[Stage]:
    """Yields a stage with the programs of some packages."""
    os.chmod(folder, 0o755)  # noqa: S103
    unpacked = packages.Packages(folder, names)
    with stand_ins.groups('server', 'client', 'middle') as groups, (
            stand_ins.monitor(*(stand_ins.server(name, group)
                                for name, group in groups.items()))
            ) as monitor:
        yield Stage(folder, unpacked, groups, monitor, stand_ins.compiled(
            traffic.SOURCE, str(folder)))
