# SPDX-License-Identifier: Apache-2.0

"""Measures the CPU time of an interface's programs per HTTP request.

usage: .venv/bin/python -m benchmarks.http_cost [requests]

The kernel itself measures each run of a program, and this measurement takes
about 57 ns of each run.  The benchmark sets kernel.bpf_stats_enabled, and
restores its value afterwards.  The server is in a network namespace.  Needs
root, ip and nsenter.
"""

from collections.abc import Iterator
import contextlib
import ctypes
import os
import pathlib
import re
import socket
import subprocess
import sys

from benchmarks import stand_ins
from benchmarks import taps
from rt_monitor import libbpf
from rt_monitor import paths
from rt_monitor import servers
from rt_monitor import tap

_STATS = pathlib.Path('/proc/sys/kernel/bpf_stats_enabled')
_COUNT = 5_000
_HEADERS = {'small': b'Host: x\r\nAccept: */*\r\n',
            'with 1.5 kB of header': b'Cookie: ' + b'x' * 1500 + b'\r\n'}
_SERVER = '''
import socket, sys
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while connection.recv(65536):
    connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
'''


@contextlib.contextmanager
def _measuring() -> Iterator[None]:
    before = _STATS.read_text()
    _STATS.write_text('1')
    try:
        yield
    finally:
        _STATS.write_text(before)


def _ran_ns(source: paths.Paths | tap.Taps) -> int:
    """Returns how long the two programs have run until now."""
    total = 0
    for name in ('from_guest', 'to_guest'):
        program = ctypes.c_void_p(source.object._program(name))
        number = libbpf._library().bpf_program__fd(program)
        info = pathlib.Path(f'/proc/self/fdinfo/{number}').read_text()
        total += int(re.findall(r'run_time_ns:\s+(\d+)', info)[0])
    return total


def _watch(source: paths.Paths | tap.Taps) -> tap.Attacher:
    watched = [servers.Watched(
        taps.UUID, {}, taps=(socket.if_nametoindex(f'nrt{os.getpid()}'),),
        sockets=False, reservation=servers.Granted(1, 2))]
    register = servers.Register()
    source.apply(register.update(watched))
    source.point(register)
    attacher = tap.Attacher(source)
    attacher.follow(watched)
    return attacher


def _ask(inside: int, header: bytes, count: int) -> None:
    with subprocess.Popen(
            ['nsenter', '-t', str(inside), '-n', sys.executable, '-c',
             _SERVER, str(taps.THERE)], text=True, stdout=subprocess.PIPE
            ) as server:
        port = stand_ins.port_of(server)
        with socket.create_connection((str(taps.THERE), port)) as asks:
            for number in range(count):
                asks.sendall(b'GET /users/%d HTTP/1.1\r\n%s\r\n' % (
                    number, header))
                asks.recv(65536)


def main() -> int:
    """Measures all cases and returns the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _COUNT
    with (taps.namespace() as inside, contextlib.closing(paths.Paths()) as
          http, contextlib.closing(tap.Taps()) as plain, _measuring()):
        sources: dict[str, paths.Paths | tap.Taps] = {
            'http': http, 'tap': plain}
        attachers = [_watch(source) for source in sources.values()]
        for name, header in _HEADERS.items():
            before = {each: _ran_ns(source)
                      for each, source in sources.items()}
            _ask(inside, header, count)
            for each, source in sources.items():
                ran = (_ran_ns(source) - before[each]) / count
                print(f'{each}: {ran:.0f} ns a request, {name}', flush=True)
        for attacher in attachers:
            attacher.follow([])
    return 0


if __name__ == '__main__':
    sys.exit(main())
