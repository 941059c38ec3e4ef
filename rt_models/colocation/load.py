# SPDX-License-Identifier: Apache-2.0

"""Traffic for a network function, and the count of what was done with it.

A program that needs the standard library alone::

    load.py packets ADDRESS PORT SIZE FLOWS
    load.py requests COUNTER ADDRESS PORT CONNECTIONS
    load.py runs COUNTER PATTERN COMMAND...

COUNTER is a file of :func:`begin` that has the count, as :func:`count` reads
it.
"""

import contextlib
import mmap
import re
import select
import socket
import struct
import subprocess
import sys
import time

#: From linux/udp.h: one send is as many packets as have this size.
_UDP_SEGMENT = 103
#: Packets a send; Linux takes 64.
_AT_ONCE = 64
_PATIENCE_S = 10.0
_NUMBER = struct.Struct('<Q')
_LENGTH = re.compile(rb'\r\nContent-Length: *(\d+)\r\n', re.IGNORECASE)


def begin(path: str) -> None:
    """Make the file of a count, at 0."""
    with open(path, 'wb') as file:
        file.write(_NUMBER.pack(0))


def count(path: str) -> int:
    """What was done so far."""
    with open(path, 'rb') as file:
        number: int = _NUMBER.unpack(file.read(_NUMBER.size))[0]
    return number


class Counter:
    """The other end of :func:`count`."""

    def __init__(self, path: str) -> None:
        with open(path, 'r+b') as file:
            self._map = mmap.mmap(file.fileno(), _NUMBER.size)
        self._done = 0

    def add(self, more: int) -> None:
        self._done += more
        _NUMBER.pack_into(self._map, 0, self._done)


def packets(address: str, port: int, size: int, flows: int) -> None:
    """Send UDP for ever; the kernel cuts each send into packets."""
    sockets = []
    for _ in range(flows):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, size)
        one.connect((address, port))
        sockets.append(one)
    # At most 64 KiB a send.
    data = bytes(size * min(_AT_ONCE, 65_000 // size))
    while True:
        for one in sockets:
            try:
                one.send(data)
            except ConnectionRefusedError:
                # The answer to an earlier one: nobody listens there.
                pass


def requests(counter: Counter, address: str, port: int, connections: int
             ) -> None:
    """Ask an HTTP server for / for ever, once a time on each connection."""
    asked = f'GET / HTTP/1.1\r\nHost: {address}\r\n\r\n'.encode()
    _await(address, port, asked)
    poll, clients = select.epoll(), {}
    for _ in range(connections):
        one = _Client(socket.create_connection((address, port)), asked)
        clients[one.number] = one
        poll.register(one.number, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            counter.add(clients[number].read())


class _Client:
    """A connection on which the next request follows each answer."""

    def __init__(self, connected: socket.socket, asked: bytes) -> None:
        self._socket, self._asked, self._got = connected, asked, b''
        self.number = connected.fileno()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.send(asked)

    def read(self) -> int:
        """How many answers this completes: 1 or 0.

        :raises ConnectionError: it is none of HTTP 200 with a length
        """
        found = self._socket.recv(65536)
        self._got += found
        head, end, body = self._got.partition(b'\r\n\r\n')
        if found and not end:
            return 0
        length = _LENGTH.search(head + b'\r\n')
        if not head.startswith(b'HTTP/1.1 200') or not length:
            raise ConnectionError('the answer is none of HTTP 200 with a '
                                  'Content-Length')
        if len(body) < int(length[1]):
            return 0
        self._got = b''
        self._socket.send(self._asked)
        return 1


def _await(address: str, port: int, asked: bytes) -> None:
    """Ask until there is an answer, as from a proxy whose server is slow.

    :raises ConnectionError: there is none
    """
    end = time.monotonic() + _PATIENCE_S
    said = 'nobody listens'
    while time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError):
            with socket.create_connection((address, port),
                                          _PATIENCE_S) as one:
                one.send(asked)
                said = one.recv(65536).partition(b'\r\n')[0].decode('latin1')
                if said.startswith('HTTP/1.1 200'):
                    return
        time.sleep(0.01)
    raise ConnectionError(f'the first answer is no HTTP 200: {said}')


def runs(counter: Counter, pattern: str, command: list[str]) -> None:
    """Run a command again and again, and add up what it says it did."""
    find = re.compile(pattern, re.MULTILINE).findall
    while True:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                              text=True, errors='replace')
        numbers = find(done.stdout)
        if not numbers:
            raise ValueError(f'nothing in its output is {pattern}')
        counter.add(sum(map(int, numbers)))


def main(arguments: list[str]) -> None:
    kind, *rest = arguments
    if kind == 'packets':
        packets(rest[0], int(rest[1]), int(rest[2]), int(rest[3]))
    elif kind == 'requests':
        requests(Counter(rest[0]), rest[1], int(rest[2]), int(rest[3]))
    else:
        runs(Counter(rest[0]), rest[1], rest[2:])


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.exit(f'{error}')
