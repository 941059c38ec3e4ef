# SPDX-License-Identifier: Apache-2.0

"""Compares requests over HTTP with the notes of both ends."""

import collections
import contextlib
import json
import math
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

from cloud import settings

from benchmarks import taps
from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import paths
from rt_monitor import servers
from rt_monitor import tap
from rt_monitor import transactions
from tests.functional.kernel.monitor import base

#: Answers each connection in a thread, with the status and the pieces that the
#: path names.  Notes each request, when the request was read, and when the
#: last piece began.
SERVER = '''
import json, re, socket, sys, threading, time
log = []
def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pending = b''
    while True:
        while b'\\r\\n\\r\\n' not in pending:
            data = connection.recv(65536)
            if not data:
                return connection.close()
            pending += data
        head, _, pending = pending.partition(b'\\r\\n\\r\\n')
        if b'100-continue' in head:
            connection.sendall(b'HTTP/1.1 100 Continue\\r\\n\\r\\n')
        length = re.search(rb'Content-Length: (\\d+)', head)
        length = int(length[1]) if length else 0
        while len(pending) < length:
            pending += connection.recv(65536)
        pending = pending[length:]
        method, target = head.split(b' ')[:2]
        status = target.rpartition(b'=')[2] or b'200'
        read = time.monotonic_ns()
        body = bytes(len(target) * 100)
        answer = b'HTTP/1.1 %s x\\r\\nContent-Length: %d\\r\\n\\r\\n' % (
            status, len(body)) + body
        for piece in (answer[:4], answer[4:11], answer[11:-1]):
            connection.sendall(piece)
        last = time.monotonic_ns()
        connection.sendall(answer[-1:])
        log.append((method.decode(), target.decode('latin-1'),
                    status.decode(), read, last))
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
''' + base.SERVING
#: Asks a server for these targets, one after the other.
CLIENT = '''
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as asks:
    for target in sys.argv[3:]:
        asks.sendall(b'GET %s HTTP/1.1\\r\\n\\r\\n' % target.encode())
        asks.recv(65536)
'''
#: Answers whatever comes, once for each read.
ECHO = '''
import socket, sys
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
answers = [bytes.fromhex(each) for each in sys.argv[2:]]
while True:
    connection, _ = listener.accept()
    while connection.recv(65536):
        connection.sendall(answers[0])
        answers.append(answers.pop(0))
    connection.close()
'''
TARGETS = ('/users/17/orders/4711?=200', '/?=204', '/v2/x9y?=404&=503',
           '/a%20b?=301', '/' + 'long/' * 30 + '1?=200', '/new?=500')
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
_SECONDS = settings.patience(20)


def kind(method, target, status, role=transactions.Role.SERVER):
    """Returns the kind of a request, by other means than the programs."""
    seen = f'{method} {target}'[:64].removeprefix(f'{method} ')
    path = re.sub(r'\d+', ':n', seen.partition('?')[0])
    return http.Request(role, method, path[:64], f'{status[0]}xx')


class HttpTest(base.ProgramsTest):

    needs = tap.Taps.name

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.inside = stack.enter_context(taps.namespace())
        self.source = stack.enter_context(contextlib.closing(paths.Paths()))
        self.register = servers.Register()
        attacher = tap.Attacher(self.source, paths.is_read)
        self.follow = attacher.follow
        stack.callback(attacher.follow, [])
        self.watch(servers.Granted(10_000, 100_000))

    def watch(self, reservation):
        index = socket.if_nametoindex(f'nrt{os.getpid()}')
        found = [servers.Watched(taps.UUID, {}, taps=(index,),
                                 reservation=reservation)]
        self.source.apply(self.register.update(found))
        self.source.point(self.register)
        self.follow(found)

    def start(self, program, *words):
        """A server in the namespace."""
        child = subprocess.Popen(
            ['nsenter', '-t', str(self.inside), '-n', sys.executable, '-c',
             program, str(taps.THERE), *words], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        self.port = int(child.stdout.readline())
        return child

    def connect(self):
        found = socket.create_connection((str(taps.THERE), self.port))
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def requests(self):
        return self.source.read(self.register)[taps.UUID].requests

    def stats(self):
        return self.source.read(self.register)[taps.UUID].stats

    def counts(self):
        return {request: took.count
                for request, took in self.requests().items()}

    def wait_for(self, count):
        end = time.monotonic() + _SECONDS
        while sum(self.counts().values()) < count:
            self.assertLess(time.monotonic(), end, self.counts())
            time.sleep(0.01)

    def talk(self, *asked):
        """Asks and reads an answer, one after the other; then closes."""
        with self.connect() as connection:
            for each in asked:
                connection.sendall(each)
                connection.recv(65536)

    def ask(self, seed, notes):
        """Sends many requests over one connection, in random pieces."""
        some = random.Random(seed)  # noqa: S311
        with self.connect() as connection:
            for _ in range(40):
                target = some.choice(TARGETS)
                method = some.choice(http.METHODS)
                head = f'{method} {target} HTTP/1.1\r\nHost: x\r\n'.encode()
                body = b''
                if method in ('POST', 'PUT', 'PATCH'):
                    body = b'GE' + bytes(some.randrange(5_000))
                    head += b'Content-Length: %d\r\n' % len(body)
                late = bool(body) and some.random() < 0.3
                head += b'Expect: 100-continue\r\n' * late + b'\r\n'
                data = head if late else head + body
                cut = sorted(some.sample(range(1, len(head)), 2))
                begun = time.monotonic_ns()
                for piece in (data[:cut[0]], data[cut[0]:cut[1]],
                              data[cut[1]:]):
                    connection.sendall(piece)
                if late:
                    connection.recv(25, socket.MSG_WAITALL)
                    connection.sendall(body)
                left = len(target) * 100
                answer = b''
                while b'\r\n\r\n' not in answer:
                    answer += connection.recv(65536)
                left -= len(answer.partition(b'\r\n\r\n')[2])
                while left:
                    left -= len(connection.recv(left))
                notes.append((begun, time.monotonic_ns()))

    def test_as_both_ends_say(self):
        server = self.start(SERVER)
        notes = []
        threads = [threading.Thread(target=self.ask, args=(seed, notes))
                   for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.wait_for(160)
        server.stdin.write('\n')
        server.stdin.flush()
        logged = json.loads(server.stdout.readline())
        self.assertEqual(
            collections.Counter(kind(*each[:3]) for each in logged),
            self.counts())
        self.assertEqual(http.HttpStats(), self.stats())
        seen = sum(self.requests().values(), start=histogram.Histogram())
        # What the kernel sees lies within what both ends say.
        least = sorted(last - read for *_, read, last in logged)
        most = sorted(end - begun for begun, end in notes)
        self.assertTrue(statistics.mean(least) <= seen.mean_ns
                        <= statistics.mean(most))
        for part in (0.5, 0.9, 0.99):
            index = math.ceil(part * len(most)) - 1
            self.assertLessEqual(least[index] * 0.984,
                                 seen.quantile_ns(part))
            self.assertGreaterEqual(most[index] * 1.016,
                                    seen.quantile_ns(part))

    def test_a_client_inside(self):
        with socket.create_server((str(taps.HERE), 0)) as listener:
            child = subprocess.Popen([
                'nsenter', '-t', str(self.inside), '-n', sys.executable, '-c',
                CLIENT, str(taps.HERE), str(listener.getsockname()[1]),
                '/a1', '/b', '/a22'])
            self.addCleanup(child.wait)
            connection, _ = listener.accept()
            with connection:
                while connection.recv(65536):
                    connection.sendall(OK)
        self.wait_for(3)
        client = transactions.Role.CLIENT
        self.assertEqual({kind('GET', '/a1', '200', client): 2,
                          kind('GET', '/b', '200', client): 1},
                         self.counts())

    def test_not_http(self):
        tls = '16030100c8010000c40303' + '5a' * 189
        self.start(ECHO, tls, b'+OK\r\n'.hex(), b'HTTP/2 200 OK\r\n\r\n'.hex(),
                   b'RTSP/1.0 200 OK\r\n\r\n'.hex(), b'HTTP/1.1 '.hex(),
                   b'HTTP/1.1 999 OK\r\n\r\n'.hex())
        get = b'GET /x HTTP/1.1\r\n\r\n'
        self.talk(bytes.fromhex(tls), *[get] * 5, bytes(range(256)) * 9)
        self.talk(b'get /x HTTP/1.1\r\n\r\n', b'SET key value\r\n',
                  b'OPTIONS rtsp://x RTSP/1.0\r\n\r\n'[:7], b'\r\n')
        # The last request, which shows that all requests before were seen.
        self.start(ECHO, OK.hex())
        self.talk(b'DELETE /end HTTP/1.1\r\n\r\n')
        self.wait_for(1)
        self.assertEqual({kind('DELETE', '/end', '200'): 1}, self.counts())
        self.assertEqual(http.HttpStats(), self.stats())

    def test_requests_before_answers(self):
        server = self.start(ECHO, OK.hex())
        get = b'GET /many HTTP/1.1\r\nHost: x\r\n\r\n'
        self.talk(get + get + get, get)
        with self.connect() as connection:
            # Nobody may answer before both requests were sent.
            server.send_signal(signal.SIGSTOP)
            connection.sendall(get)
            connection.sendall(get)
            server.send_signal(signal.SIGCONT)
            # If nobody reads an answer, the server closes the connection.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        self.talk(b'GET /end HTTP/1.1\r\n\r\n')
        self.wait_for(1)
        self.assertEqual({kind('GET', '/end', '200'): 1}, self.counts())
        self.assertEqual(http.HttpStats(unclear=2), self.stats())

    def test_many_paths(self):
        self.start(ECHO, OK.hex())
        names = [f'{one}{two}' for one in 'abcdefghij' for two in 'stuvwxyz']
        self.talk(*(f'GET /{name} HTTP/1.1\r\n\r\n'.encode()
                    for name in [*names, *names]),
                  b'OPTIONS * HTTP/1.1\r\n\r\n')
        self.wait_for(161)
        found = self.counts()
        other = http.Request(transactions.Role.SERVER, http.OTHER, http.OTHER,
                             http.OTHER)
        self.assertEqual(33, found.pop(other))
        self.assertEqual({kind('GET', f'/{name}', '200'): 2
                          for name in names[:64]}, found)
        self.assertEqual(http.HttpStats(beyond=33), self.stats())

    def test_another_server_with_its_number(self):
        self.start(ECHO, OK.hex())
        self.talk(b'GET /x HTTP/1.1\r\n\r\n')
        self.wait_for(1)
        self.register = servers.Register()
        self.watch(servers.Granted(1, 2))
        self.assertEqual({}, self.counts())

    def test_without_a_reservation(self):
        self.watch(None)
        self.start(ECHO, OK.hex())
        self.talk(b'GET /x HTTP/1.1\r\n\r\n')
        self.assertEqual({}, self.source.read(self.register))
        self.assertEqual([], [*self.source.object.map('talks').keys()])

    def test_of_a_connection_that_is_older(self):
        self.watch(None)
        self.start(ECHO, OK.hex())
        with self.connect() as connection:
            connection.sendall(b'GET /before HTTP/1.1\r\n\r\n')
            connection.recv(65536)
            self.watch(servers.Granted(1, 2))
            for _ in range(3):
                connection.sendall(b'PUT /after HTTP/1.1\r\n\r\n')
                connection.recv(65536)
        self.wait_for(3)
        self.assertEqual({kind('PUT', '/after', '200'): 3}, self.counts())

    def test_what_leaves_the_kernel(self):
        self.start(ECHO, OK.hex())
        secret = b'?token=secret HTTP/1.1\r\nAuthorization: secret\r\n\r\n'
        self.talk(b'GET /\x01\xff"\\17' + secret)
        self.wait_for(1)
        [request] = self.counts()
        self.assertEqual('/%01%FF"\\:n', request.path)
        for name in ('exchanges', 'kinds'):
            for pair in self.source.object.map(name).items():
                self.assertNotIn(b'secret', b''.join(pair))
                self.assertNotIn(b'17', b''.join(pair))
