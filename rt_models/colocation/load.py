# SPDX-License-Identifier: Apache-2.0

"""Sends traffic to a network function and counts the work that was done.

This module is a program that needs only the standard library::

    load.py packets ADDRESS PORT SIZE FLOWS
    load.py requests COUNTER ADDRESS PORT CONNECTIONS
    load.py runs COUNTER PATTERN COMMAND...

COUNTER is the file of a count, which :func:`begin` creates and :func:`count`
reads.
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

#: The option UDP_SEGMENT of linux/udp.h: the kernel cuts each send into
#: packets of this size.
_UDP_SEGMENT = 103
#: The number of packets in a send; Linux accepts 64.
_AT_ONCE = 64
_PATIENCE_S = 10.0
_NUMBER = struct.Struct('<Q')
_LENGTH = re.compile(rb'\r\nContent-Length: *(\d+)\r\n', re.IGNORECASE)


def begin(path: str) -> None:
    """Creates the file of a count, with 0."""
    with open(path, 'wb') as file:
        file.write(_NUMBER.pack(0))


def count(path: str) -> int:
    """Returns the work that was done so far."""
    with open(path, 'rb') as file:
        number: int = _NUMBER.unpack(file.read(_NUMBER.size))[0]
    return number


class Counter:
    """The writer of a count that :func:`count` reads."""

    def __init__(self, path: str) -> None:
        with open(path, 'r+b') as file:
            self._map = mmap.mmap(file.fileno(), _NUMBER.size)
        self._done = 0

    def add(self, more: int) -> None:
        """Adds work to the count."""
        self._done += more
        _NUMBER.pack_into(self._map, 0, self._done)


def packets(address: str, port: int, size: int, flows: int) -> None:
    """Sends UDP without end; the kernel cuts each send into packets.

    :param size: the bytes of payload of a packet
    :param flows: the number of ports to send from
    """
    sockets = []
    for _ in range(flows):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, size)
        sender.connect((address, port))
        sockets.append(sender)
    # A send has at most 64 KiB.
    data = bytes(size * min(_AT_ONCE, 65_000 // size))
    while True:
        for sender in sockets:
            try:
                sender.send(data)
            except ConnectionRefusedError:
                # This answers an earlier packet: nobody listens at the port.
                pass


def requests(counter: Counter, address: str, port: int, connections: int
             ) -> None:
    """Requests / from an HTTP server without end.

    Each connection has one request at a time.
    """
    request = f'GET / HTTP/1.1\r\nHost: {address}\r\n\r\n'.encode()
    _await(address, port, request)
    poll, clients = select.epoll(), {}
    for _ in range(connections):
        client = _Client(socket.create_connection((address, port)), request)
        clients[client.number] = client
        poll.register(client.number, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            counter.add(clients[number].read())


class _Client:
    """A connection that sends the next request after each answer."""

    def __init__(self, connected: socket.socket, request: bytes) -> None:
        self._socket, self._request, self._answer = connected, request, b''
        self.number = connected.fileno()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.send(request)

    def read(self) -> int:
        """Reads from the connection; returns how many answers ended: 0 or 1.

        :raises ConnectionError: when the answer is not HTTP 200 with a
            Content-Length
        """
        part = self._socket.recv(65536)
        self._answer += part
        head, end, body = self._answer.partition(b'\r\n\r\n')
        if part and not end:
            return 0
        length = _LENGTH.search(head + b'\r\n')
        if not head.startswith(b'HTTP/1.1 200') or not length:
            raise ConnectionError('the answer is not an HTTP 200 with a '
                                  'Content-Length')
        if len(body) < int(length[1]):
            return 0
        self._answer = b''
        self._socket.send(self._request)
        return 1


def _await(address: str, port: int, request: bytes) -> None:
    """Sends requests until the server, or the server of a proxy, is ready.

    :raises ConnectionError: when there is no good answer in time
    """
    end = time.monotonic() + _PATIENCE_S
    status = 'nobody listens'
    while time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError):
            with socket.create_connection((address, port),
                                          _PATIENCE_S) as server:
                server.send(request)
                status = server.recv(65536).partition(b'\r\n')[0].decode(
                    'latin1')
                if status.startswith('HTTP/1.1 200'):
                    return
        time.sleep(0.01)
    raise ConnectionError(f'the first answer is not an HTTP 200: {status}')


def runs(counter: Counter, pattern: str, command: list[str]) -> None:
    """Runs a command again and again and adds up the work it reports.

    :param pattern: a regular expression with one group, the number
    :raises ValueError: when the output of a run does not match the pattern
    """
    find = re.compile(pattern, re.MULTILINE).findall
    while True:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                              text=True, errors='replace')
        numbers = find(done.stdout)
        if not numbers:
            raise ValueError('no line of the output of the command matches '
                             f'{pattern}')
        counter.add(sum(map(int, numbers)))


def main(arguments: list[str]) -> None:
    """Runs the program with the arguments that the module describes."""
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
