# SPDX-License-Identifier: Apache-2.0

"""Small servers in C, Go, Java, JavaScript and Python."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import subprocess

from tests.full.signals import compare
from tests.full.signals import stage as signals_stage
from tests.full.signals import web

_NODE = '''
const http = require('http');
http.createServer((asked, answer) => {
    answer.writeHead(200, {'Content-Length': 4000});
    answer.end(Buffer.alloc(4000));
}).listen(+process.argv[2], '127.0.0.1');
'''
_PYTHON = '''
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '4000')
        self.end_headers()
        self.wfile.write(bytes(4000))
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(
    ('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
'''
_ASYNCIO = '''
import asyncio, sys
async def serve(reader, writer):
    while await reader.read(4096):
        writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n'
                     b'\\r\\nhello')
    writer.close()
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1',
                                        int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
'''
#: An event each 20 ms, without end.
_EVENTS = '''
import socket, sys, time
with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as listener:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b'HTTP/1.1 200 OK\\r\\n'
                               b'Content-Type: text/event-stream\\r\\n\\r\\n')
            for _ in range(20):
                time.sleep(0.02)
                connection.sendall(b'data: x\\n\\n')
'''
#: A server of gRPC that answers with what it is asked, and its client.
_GRPC = '''
import sys
from concurrent import futures
import grpc
class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(
            lambda asked, context: asked)
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Echo(),))
server.add_insecure_port('127.0.0.1:' + sys.argv[1])
server.start()
server.wait_for_termination()
'''
_GRPC_CLIENT = '''
import sys
import grpc
with grpc.insecure_channel('127.0.0.1:' + sys.argv[1]) as channel:
    call = channel.unary_unary('/suite.Echo/Echo')
    print(sum(call(b'hello') == b'hello' for _ in range(int(sys.argv[2]))))
'''
_ANSWER = 4_000


@contextlib.contextmanager
def _running(stage: signals_stage.Stage, *command: str) -> Iterator[int]:
    port = signals_stage.free_port()
    with stage.serving(port, *(word.format(port=port) for word in command)):
        yield port


def _go(stage: signals_stage.Stage) -> str:
    source = pathlib.Path(__file__).with_name('server.go')
    subprocess.run(['go', 'build', '-o', stage.folder / 'server', source],
                   check=True, cwd=stage.folder, env={
                       **os.environ, 'GOFLAGS': '-mod=mod',
                       'GOCACHE': str(stage.folder / 'gocache')})
    return str(stage.folder / 'server')


def of_python(stage: signals_stage.Stage, count: int
              ) -> Iterator[compare.Row]:
    """Yields a line for each server of the standard library."""
    python = [('Python', 'http.server, a header and a body', _PYTHON),
              ('Python', 'asyncio streams', _ASYNCIO)]
    for number, (name, what, source) in enumerate(python):
        path = stage.file(f'server{number}.py', source)
        with _running(stage, 'python3', path, '{port}') as port:
            size = stage.answer_to(port, web.GET)
            yield stage.watched(name, what, lambda: stage.generate(
                port, web.GET, size, count // 2, 300))
    path = stage.file('events.py', _EVENTS)
    with _running(stage, 'python3', path, '{port}') as port:
        yield stage.watched('Python', 'server-sent events',
                            lambda: stage.each(port, [web.GET], 3))


def of_node(stage: signals_stage.Stage, count: int) -> Iterator[compare.Row]:
    """Yields a line."""
    path = stage.file('server.js', _NODE)
    with _running(stage, 'node', path, '{port}') as port:
        size = stage.answer_to(port, web.GET)
        yield stage.watched('node', 'http', lambda: stage.generate(
            port, web.GET, size, count))


def of_java(stage: signals_stage.Stage, count: int) -> Iterator[compare.Row]:
    """Yields a line."""
    source = pathlib.Path(__file__).with_name('Server.java')
    subprocess.run(['javac', '-d', stage.folder, source], check=True)
    with _running(stage, 'java', '-cp', str(stage.folder), 'Server',
                  '{port}') as port:
        size = stage.answer_to(port, web.GET)
        # The first requests are slow, because the JVM compiles.
        yield stage.watched('Java', 'com.sun.net.httpserver',
                            lambda: stage.generate(
                                port, web.GET, size, count // 2, 300))


def of_io_uring(stage: signals_stage.Stage, count: int
                ) -> Iterator[compare.Row]:
    """Yields a line."""
    source = pathlib.Path(__file__).with_name('uring.c')
    program = str(stage.folder / 'uring')
    library = pathlib.Path(stage.packages.path('liburing.a'))
    subprocess.run(['cc', '-O2', '-o', program, source, library, '-I',
                    library.parents[2] / 'include'], check=True)
    with _running(stage, program, '{port}', str(_ANSWER)) as port:
        yield stage.watched(
            'C', 'io_uring', lambda: stage.generate(
                port, b'ask\r\n', _ANSWER, count))


def of_grpc(stage: signals_stage.Stage, count: int) -> Iterator[compare.Row]:
    """Yields a line."""
    modules = stage.packages.path('dist-packages')
    # The package is for the Python of Debian.
    python = ('env', f'PYTHONPATH={modules}', '/usr/bin/python3')
    server = stage.file('grpc_server.py', _GRPC)
    client = stage.file('grpc_client.py', _GRPC_CLIENT)
    with _running(stage, *python, server, '{port}') as port:
        yield stage.watched('Python', 'gRPC (grpcio), one call at a time',
                            lambda: compare.Truth(int(stage.run(
                                *python, client, str(port),
                                str(count // 4)))))


def of_go(stage: signals_stage.Stage, count: int) -> Iterator[compare.Row]:
    """Yields a line for a server and for a proxy."""
    program = _go(stage)
    with _running(stage, program, 'http', '{port}') as port:
        size = stage.answer_to(port, web.GET)
        yield stage.watched('Go', 'net/http', lambda: stage.generate(
            port, web.GET, size, count))
    with web.nginx(stage, group='middle') as behind, _running(
            stage, program, 'proxy', '{port}', str(behind)) as port:
        large = web.GET.replace(b'file', b'large')
        size = stage.answer_to(port, large)
        yield stage.watched(
            'Go', 'io.Copy (splice), 200 kB from nginx',
            lambda: stage.generate(port, large, size, count // 4, 200))
