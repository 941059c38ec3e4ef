# SPDX-License-Identifier: Apache-2.0

"""Stores: redis, memcached, PostgreSQL."""

from collections.abc import Iterator
import contextlib
import os
import shutil

from tests.full.signals import compare
from tests.full.signals import stage as signals_stage

_GET = b'*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n'
#: Logs in and asks this number of times: one query in a message, or four at
#: once.
_POSTGRES = '''
import socket, struct, sys
port, count, at_once = map(int, sys.argv[1:])
def message(kind, data):
    return kind + struct.pack('>i', len(data) + 4) + data
def hear(connection, ends):
    data = b''
    while ends:
        data += connection.recv(65536)
        while len(data) >= 5:
            size = struct.unpack('>i', data[1:5])[0] + 1
            if len(data) < size:
                break
            ends -= data[:1] == b'Z'
            data = data[size:]
query = message(b'Q', b'select 1\\0') if at_once == 1 else b''.join((
    message(b'P', b'\\0select 1\\0\\0\\0'),
    message(b'B', bytes(8)), message(b'E', bytes(5)),
    message(b'S', b'')))
with socket.create_connection(('127.0.0.1', port)) as connection:
    start = struct.pack('>i', 196608) + b'\\0'.join((
        b'user', b'nobody', b'database', b'postgres', b'', b''))
    connection.sendall(struct.pack('>i', len(start) + 4) + start)
    hear(connection, 1)
    for _ in range(count):
        connection.sendall(query * at_once)
        hear(connection, at_once)
'''


@contextlib.contextmanager
def postgres(stage: signals_stage.Stage) -> Iterator[int]:
    """Runs PostgreSQL; yields its port."""
    port = signals_stage.free_port()
    data = stage.folder / 'pgdata'
    data.mkdir()
    shutil.chown(data, 'nobody', 'nogroup')
    bare = ('setpriv', '--reuid', 'nobody', '--regid', 'nogroup',
            '--clear-groups')
    binaries = os.path.dirname(stage.packages.path('initdb'))
    stage.run(*bare, f'{binaries}/initdb', '-D', str(data), '-U', 'nobody',
              '-A', 'trust', '--no-sync', group='middle')
    with stage.serving(port, *bare, f'{binaries}/postgres', '-D', str(data),
                       '-p', str(port), '-k', '', '-c', 'fsync=off',
                       '-h', '127.0.0.1'):
        yield port


def of_redis(stage: signals_stage.Stage, count: int
             ) -> Iterator[compare.Row]:
    """Yields a line for each kind of traffic."""
    port = signals_stage.free_port()
    with stage.serving(port, stage.packages.path('redis-server'), '--port',
                       str(port), '--bind', '127.0.0.1', '--save', '',
                       '--dir', str(stage.folder)):
        stage.answer_to(port, b'SET key 12345\r\n')
        size = stage.answer_to(port, _GET)
        yield stage.watched('redis', 'GET', lambda: stage.generate(
            port, _GET, size, count))
        yield stage.watched(
            'redis', 'GET, 16 before the first answer',
            lambda: _at_once(stage, port, size, count))


def of_memcached(stage: signals_stage.Stage, count: int
                 ) -> Iterator[compare.Row]:
    """Yields a line."""
    port = signals_stage.free_port()
    with stage.serving(port, stage.packages.path('memcached'), '-u', 'nobody',
                       '-l', '127.0.0.1', '-p', str(port)):
        get = b'get key\r\n'
        stage.answer_to(port, b'set key 0 0 5\r\n12345\r\n')
        size = stage.answer_to(port, get)
        yield stage.watched('memcached', 'get', lambda: stage.generate(
            port, get, size, count))


def of_postgres(stage: signals_stage.Stage, count: int
                ) -> Iterator[compare.Row]:
    """Yields a line for each kind of query."""
    with postgres(stage) as port:
        program = stage.file('postgres.py', _POSTGRES)

        def ask(at_once: int) -> compare.Truth:
            stage.run('python3', program, str(port), str(count // at_once),
                      str(at_once))
            return compare.Truth(count // at_once * at_once + 1)

        yield stage.watched('PostgreSQL', 'simple queries, with the log-in',
                            lambda: ask(1))
        yield stage.watched('PostgreSQL', 'extended queries, 4 at once',
                            lambda: ask(4))


def _at_once(stage: signals_stage.Stage, port: int, size: int, count: int
             ) -> compare.Truth:
    truth = stage.generate(port, _GET * 16, size * 16, count // 16)
    return compare.Truth(16 * truth.requests, truth.received, truth.sent)
