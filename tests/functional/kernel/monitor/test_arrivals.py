# SPDX-License-Identifier: Apache-2.0

"""Tests that every request is counted, however it arrives, or is unclear."""

import pathlib
import socket
import threading

from rt_monitor import transactions
from tests.functional.kernel.monitor import base

COUNT, ASKED, ANSWERED = 20, 100, 1_000
SERVER, CLIENT = transactions.Role

#: Answers each request of 100 bytes with 1000; the options of its listening
#: socket are pairs of numbers.  It ends a connection as its client does.
ANSWERING = '''
import socket, sys, threading
asked, answered, *options = map(int, sys.argv[1:])
listener = socket.create_server(('127.0.0.1', 0), backlog=100)
for name, value in zip(options[::2], options[1::2]):
    listener.setsockopt(socket.IPPROTO_TCP, name, value)
def serve(connection):
    with connection:
        while True:
            if len(connection.recv(asked, socket.MSG_WAITALL)) < asked:
                return
            connection.sendall(bytes(answered))
def accept():
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,)).start()
print(listener.getsockname()[1], flush=True)
accept()
'''
#: Asks this number of times, over a new connection each time; closes its half
#: of the connection, and reads the answer a little later.
HALF = '''
import socket, sys, time
port, count, asked = map(int, sys.argv[1:])
for _ in range(count):
    with socket.create_connection(('127.0.0.1', port)) as connection:
        connection.sendall(bytes(asked))
        connection.shutdown(socket.SHUT_WR)
        time.sleep(0.002)
        while connection.recv(65536):
            pass
print(flush=True)
sys.stdin.read()
'''
#: Reads a connection by splice, and passes all of it on to another.
SPLICING = '''
import os, socket, sys, threading
port = int(sys.argv[1])
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
def move(one, other):
    out, into = os.pipe()
    while True:
        size = os.splice(one.fileno(), into, 1 << 16)
        if not size:
            break
        while size:
            size -= os.splice(out, other.fileno(), size)
    other.shutdown(socket.SHUT_WR)
while True:
    connection, _ = listener.accept()
    behind = socket.create_connection(('127.0.0.1', port))
    for pair in ((connection, behind), (behind, connection)):
        threading.Thread(target=move, args=pair).start()
'''
#: Gives the answers of its arguments, which are pairs of hexadecimal numbers:
#: a question and its answer.  The parts of an answer come with pauses of this
#: many seconds.
SAYING = '''
import socket, sys, time
pause, *said = sys.argv[1:]
said = [bytes.fromhex(each) for each in said]
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        for asked, answer in zip(said[::2], said[1::2]):
            if len(connection.recv(len(asked), socket.MSG_WAITALL)) < len(
                    asked):
                break
            for part in answer.split(b'|'):
                connection.sendall(part)
                time.sleep(float(pause))
'''

GET = b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
POST = (b'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n'
        b'Expect: 100-continue\r\n\r\n')
WAIT = b'HTTP/1.1 100 Continue\r\n\r\n'
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
HELLO = bytes.fromhex('1603010200010001fc0303') + bytes(506)
GREETED = bytes.fromhex('160303007a020000760303') + bytes(116)
PING = b'*1\r\n$4\r\nPING\r\n'


class BaseTest(base.WatchedTest):

    needs = transactions.Transactions.name

    def listen(self, program, *arguments):
        child = self.python(program, *map(str, arguments))
        return int(child.stdout.readline())

    def total(self, role=SERVER):
        look = self.monitor.read().since(self.begun)
        return look.answered[base.UUID].total(role)

    def counts(self, role=SERVER):
        total = self.total(role)
        return total.took.count, total.received, total.sent, total.unclear

    def wait_count(self, *wanted, role=SERVER):
        try:
            self.wait_for(lambda: self.counts(role) == wanted)
        except AssertionError:
            self.assertEqual(wanted, self.counts(role))

    def ask(self, port, times=COUNT, requests=1):
        for _ in range(times):
            with socket.create_connection(('127.0.0.1', port)) as client:
                for _ in range(requests):
                    client.sendall(bytes(ASKED))
                    client.recv(ANSWERED, socket.MSG_WAITALL)

    def assert_edges(self):
        """No edge has a port that is not the port of the service."""
        look = self.monitor.read().since(self.begun)
        for peer in look.answered[base.UUID].edges:
            self.assertTrue(peer.port)


class ArrivalsTest(BaseTest):

    def test_deferred(self):
        port = self.listen(ANSWERING, ASKED, ANSWERED,
                           socket.TCP_DEFER_ACCEPT, 10)
        self.ask(port, requests=3)
        self.wait_count(3 * COUNT, 3 * COUNT * ASKED, 3 * COUNT * ANSWERED, 0)
        waiting = self.monitor.read().since(
            self.begun).answered[base.UUID].waiting
        self.assertEqual(3 * COUNT, waiting.count)
        self.assertGreater(waiting.quantile_ns(0.01), 0)
        self.assert_edges()

    def test_fast_open(self):
        switch = pathlib.Path('/proc/sys/net/ipv4/tcp_fastopen')
        before = switch.read_text()
        self.addCleanup(switch.write_text, before)
        switch.write_text(str(int(before) | 0x3))
        port = self.listen(ANSWERING, ASKED, ANSWERED,
                           socket.TCP_FASTOPEN, 100)
        for _ in range(COUNT):
            with socket.socket() as client:
                client.sendto(bytes(ASKED), socket.MSG_FASTOPEN,
                              ('127.0.0.1', port))
                client.recv(ANSWERED, socket.MSG_WAITALL)
        self.wait_count(COUNT, COUNT * ASKED, COUNT * ANSWERED, 0)
        self.assert_edges()

    def test_half_closed(self):
        port = self.listen(ANSWERING, ASKED, ANSWERED)
        client = self.python(HALF, str(port), str(COUNT), str(ASKED))
        client.stdout.readline()
        self.wait_count(COUNT, COUNT * ASKED, COUNT * ANSWERED, 0)
        self.wait_count(COUNT, COUNT * ANSWERED, COUNT * ASKED, 0,
                        role=CLIENT)
        self.assert_edges()

    def test_spliced(self):
        with socket.create_server(('127.0.0.1', 0)) as behind:
            port = self.listen(SPLICING, behind.getsockname()[1])

            def serve():
                for _ in range(COUNT):
                    connection, _ = behind.accept()
                    with connection:
                        for _ in range(3):
                            connection.recv(ASKED, socket.MSG_WAITALL)
                            connection.sendall(bytes(200_000))
            thread = threading.Thread(target=serve)
            thread.start()
            for _ in range(COUNT):
                with socket.create_connection(('127.0.0.1', port)) as client:
                    for _ in range(3):
                        client.sendall(bytes(ASKED))
                        client.recv(200_000, socket.MSG_WAITALL)
            thread.join()
        count = 3 * COUNT
        self.wait_count(count, count * ASKED, count * 200_000, 0)
        self.wait_count(count, count * 200_000, count * ASKED, 0,
                        role=CLIENT)
        waiting = self.monitor.read().since(
            self.begun).answered[base.UUID].waiting
        # The time at which the request was read is not known, and is not
        # reported.
        self.assertEqual(0, waiting.count)


#: The words of a client and a server in turns: one request after another.
CLEAR = (
    (GET, OK), (GET, OK, GET, OK), (POST, WAIT, b'body', OK),
    (PING, b'+PONG\r\n') * 3, (b'quit\r\n', b'ok\r\n'),
    (b'POST / HTTP/1.1\r\n\r\n', OK[:20] + b'|' + OK[20:]))
#: TLS, HTTP/2, requests before answers, two answers, and another protocol.
UNCLEAR = (
    (HELLO, GREETED), (PREFACE, bytes.fromhex('000000040000000000')),
    (GET * 2, OK * 2), (GET, OK + b'|' + OK),
    (GET, b'HTTP/1.1 101 Switching Protocols\r\n\r\n', b'x', b'y'),
    (PING * 16, b'+PONG\r\n' * 16), (b'get a\r\n' * 3, b'END\r\n' * 3))


class UnclearTest(BaseTest):

    def talk(self, *said, pause=0.0):
        """Sends and receives in turns, over one connection."""
        self.begun = self.monitor.read()
        port = self.listen(SAYING, pause, *(part.hex() for part in said))
        with socket.create_connection(('127.0.0.1', port)) as client:
            for asked, answer in zip(said[::2], said[1::2], strict=True):
                client.sendall(asked)
                client.recv(len(answer.replace(b'|', b'')),
                            socket.MSG_WAITALL)

    def judged(self):
        self.wait_for(lambda: self.total().took.count + self.total().unclear)
        return self.total().took.count, self.total().unclear

    def test_one_request_after_another(self):
        for said in CLEAR:
            with self.subTest(said=said):
                self.talk(*said)
                count = sum(answer != WAIT for answer in said[1::2])
                self.wait_for(lambda count=count:
                              self.total().took.count == count)
                self.assertEqual((count, 0), self.judged())

    def test_other_connections(self):
        for said in UNCLEAR:
            with self.subTest(said=said):
                self.talk(*said)
                count, unclear = self.judged()
                self.assertEqual(0, count)
                self.assertGreater(unclear, 0)

    def test_a_server_that_pushes(self):
        self.talk(b'subscribe\n', b'|'.join([b'news'] * 20), pause=0.02)
        self.assertEqual((0, 1), self.judged())
