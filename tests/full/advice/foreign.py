# SPDX-License-Identifier: Apache-2.0

"""The foreign servers whose advice is measured, and their clients.

The servers compute, because nova-rt advises for CPU time: they compress,
count, hash or copy.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import subprocess

from tests.full.advice import programs
from tests.full.signals import sick
from tests.full.signals import stage as signals_stage
from tests.full.signals import stores
from tests.full.signals import web

#: The connections of a client.
_CONNECTIONS, _SESSIONS = 128, 24
#: A client runs before all servers, on the other CPU.
_CLIENT = ('taskset', '-c', '1', 'chrt', '--rr', '30')
#: A server behind the one that is measured runs there, too.
_BEHIND = ('taskset', '-c', '1', 'chrt', '--rr', '20')
_ZIPPED = (b'GET /large HTTP/1.1\r\nHost: x\r\n'
           b'Accept-Encoding: gzip\r\n\r\n')
_LARGE = web.GET.replace(b'file', b'large')
#: With fewer threads, Apache would close connections that are idle.
_APACHE = '''
LoadModule deflate_module {modules}/mod_deflate.so
SetOutputFilter DEFLATE
KeepAliveTimeout 60
StartServers 1
ServerLimit 1
ThreadLimit 200
ThreadsPerChild 200
MaxRequestWorkers 200
MaxSpareThreads 200
'''
_LUA = b'local s = 0 for i = 1, 40000 do s = s + i end return 1'
_EVAL = b'*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n' % (len(_LUA), _LUA)
_SELECT = 'select sum(i) from generate_series(1, 5000) as i;\n'

#: Returns the command that sends this number of requests at this rate.
Client = Callable[[float, int], list[str]]
Served = contextlib.AbstractContextManager[Client]


def _client(stage: signals_stage.Stage, port: int, request: bytes) -> Client:
    """Returns a client that sends one request over and over."""
    # Without its budget, the server would answer too late.
    sick.make_real_time(stage.groups['server'])
    size = max(stage.answer_to(port, request) for _ in range(3))
    path = stage.folder / 'asked'
    path.write_bytes(request)
    return lambda rate_hz, count: [*_CLIENT, stage.generator, 'client', *map(
        str, (signals_stage.HOST, port, _CONNECTIONS, rate_hz, count,
              len(request), size, 1, stage.folder / 'notes', path))]


@contextlib.contextmanager
def _nginx(stage: signals_stage.Stage) -> Iterator[Client]:
    web.prepare(stage)
    with web.nginx(stage, more='gzip on; gzip_types *;') as port:
        yield _client(stage, port, _ZIPPED)


@contextlib.contextmanager
def _apache(stage: signals_stage.Stage) -> Iterator[Client]:
    web.prepare(stage)
    with web.apache(stage, _APACHE) as port:
        yield _client(stage, port, _ZIPPED)


@contextlib.contextmanager
def _haproxy(stage: signals_stage.Stage) -> Iterator[Client]:
    web.prepare(stage)
    with web.nginx(stage, group='middle', before=_BEHIND) as behind, (
            web.haproxy(stage, behind, 'http')) as port:
        yield _client(stage, port, _LARGE)


@contextlib.contextmanager
def _redis(stage: signals_stage.Stage) -> Iterator[Client]:
    port = signals_stage.free_port()
    with stage.serving(port, stage.packages.path('redis-server'), '--port',
                       str(port), '--bind', '127.0.0.1', '--save', '',
                       '--dir', str(stage.folder)):
        yield _client(stage, port, _EVAL)


@contextlib.contextmanager
def _memcached(stage: signals_stage.Stage) -> Iterator[Client]:
    port = signals_stage.free_port()
    with stage.serving(port, stage.packages.path('memcached'), '-u', 'nobody',
                       '-l', '127.0.0.1', '-p', str(port), '-t', '1'):
        stage.answer_to(port, b'set key 0 0 1000\r\n%b\r\n' % (b'x' * 1000))
        yield _client(stage, port, b'get' + b' key' * 100 + b'\r\n')


@contextlib.contextmanager
def _postgres(stage: signals_stage.Stage) -> Iterator[Client]:
    script = stage.file('select.sql', _SELECT)
    with stores.postgres(stage) as port:
        def ask(rate_hz: float, count: int) -> list[str]:
            return [*_CLIENT, stage.packages.path('pgbench'), '-n', '-h',
                    signals_stage.HOST, '-p', str(port), '-U', 'nobody', '-f',
                    script, '-c', str(_SESSIONS), '-R', f'{rate_hz:.3f}',
                    '-t', str(count // _SESSIONS + 1), 'postgres']
        yield ask


@contextlib.contextmanager
def _program(stage: signals_stage.Stage, name: str) -> Iterator[Client]:
    port = signals_stage.free_port()
    command = programs.commands(stage.folder, port)[name]
    if name == 'Go':
        subprocess.run(
            ['go', 'build', '-o', command[0], f'{command[0]}.go'], check=True,
            env={**os.environ, 'GOCACHE': str(stage.folder / 'gocache')})
    with stage.serving(port, *command):
        yield _client(stage, port, web.GET)


#: What starts each server, by what the table says of the server.
SERVERS: dict[str, Callable[[signals_stage.Stage], Served]] = {
    'nginx, compresses 200 kB': _nginx,
    'Apache, compresses 200 kB': _apache,
    'haproxy, passes on 200 kB of nginx': _haproxy,
    'redis, a script of Lua': _redis,
    'memcached, 100 keys': _memcached,
    'PostgreSQL, a sum of 5000 rows': _postgres,
    'node, hashes': lambda stage: _program(stage, 'node'),
    'node, compresses': lambda stage: _program(stage, 'node, gzip'),
    'Go, hashes': lambda stage: _program(stage, 'Go'),
    'Python, hashes': lambda stage: _program(stage, 'python'),
    'Python, one of ten requests is long': lambda stage: _program(
        stage, 'python, mixed')}
#: The Debian packages of a server, by the first word of its name.
_PACKAGES = {'nginx': ['nginx-light'], 'Apache': ['apache2-bin'],
             'haproxy': ['haproxy', 'nginx-light'],
             'redis': ['redis-server'], 'memcached': ['memcached'],
             'PostgreSQL': ['postgresql-15']}


def packages(name: str) -> list[str]:
    """Returns the Debian packages that a server needs."""
    return _PACKAGES.get(name.replace(',', ' ').split()[0], [])
