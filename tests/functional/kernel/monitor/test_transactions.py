# SPDX-License-Identifier: Apache-2.0

"""Compares requests and answers with the notes of both ends."""

import contextlib
import errno
import ipaddress
import json
import math
import socket
import statistics
import unittest
from unittest import mock

import ddt

from benchmarks import traffic
from rt_monitor import libbpf
from rt_monitor import snapshot
from rt_monitor import transactions
from tests.functional.kernel.monitor import base

CONNECTIONS, REQUESTS = 4, 50
ASKED, ANSWERED = 100, 5_000
LARGE = 200_000
#: Servers in Go listen with MPTCP.
PROTOCOLS = ddt.data(socket.IPPROTO_TCP, socket.IPPROTO_MPTCP)

#: Listens with the protocol of the first argument.
LISTENING = '''
import socket, sys
listener = socket.socket(proto=int(sys.argv[1]))
listener.bind(('127.0.0.1', 0))
listener.listen()
'''
#: Answers each connection in a thread.  Notes, by the connection's first byte,
#: when it was woken, and the times before and after a request was read and
#: answered.
SERVER = LISTENING + '''
import json, os, select, tempfile, threading, time
asked, answered, sendfile = map(int, sys.argv[2:])
file = tempfile.TemporaryFile()
file.write(bytes(answered)); file.flush()
log = {}
def serve(connection):
    while True:
        select.select([connection], [], [])
        woken = time.monotonic_ns()
        time.sleep(0.002)
        data = connection.recv(asked, socket.MSG_PEEK)
        before = time.monotonic_ns()
        data = connection.recv(asked)
        if not data:
            return connection.close()
        read = time.monotonic_ns()
        time.sleep(0.001)
        first = time.monotonic_ns()
        if sendfile:
            file.seek(0)
            sent = 0
            while sent < answered:
                sent += os.sendfile(connection.fileno(), file.fileno(), sent,
                                    answered - sent)
        else:
            connection.sendall(bytes(answered))
        log.setdefault(data[0], []).append(
            (woken, before, read, first, time.monotonic_ns()))
print(listener.getsockname()[1], flush=True)
''' + base.SERVING
#: Asks and gets an answer twice, and asks once more.
WAITING = '''
import socket, sys
with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as client:
    for _ in range(2):
        client.sendall(b'x')
        client.recv(1)
    client.sendall(b'x')
print(flush=True)
'''
#: Asks, and gets no answer but the end.
ASKING = '''
import socket, sys
with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as client:
    client.sendall(b'x')
    print(len(client.recv(1)), flush=True)
'''
#: Reads a request, answers it when told to, and then the next one.
LATE = LISTENING + '''
with listener:
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    connection.recv(100)
    print(flush=True)
    sys.stdin.readline()
    connection.send(b'x')
    connection.recv(100)
    connection.send(b'x')
    sys.stdin.readline()
    connection.close()
    sys.stdin.read()
'''
#: Asks over some connections at once; notes when it asked and when it had the
#: whole answer.
CLIENT = '''
import json, socket, sys, threading, time
port, connections, requests, asked, answered = map(int, sys.argv[1:])
log = {}
def ask(name):
    found = log[name] = []
    with socket.create_connection(('127.0.0.1', port)) as connection:
        for _ in range(requests):
            begun = time.monotonic_ns()
            connection.sendall(bytes([name]) * asked)
            left = answered
            while left:
                left -= len(connection.recv(left))
            found.append((begun, time.monotonic_ns()))
threads = [threading.Thread(target=ask, args=(name,))
           for name in range(connections)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(log), flush=True)
sys.stdin.read()
'''


def skip_without(protocol):
    try:
        socket.socket(proto=protocol).close()
    except OSError as error:
        raise unittest.SkipTest(f'protocol {protocol}: {error}') from None


@ddt.ddt
class TransactionsTest(base.WatchedTest):

    needs = transactions.Transactions.name

    def exchange(self, answered, requests=REQUESTS, sendfile=0):
        """Returns what both ends say of the exchange, and what was seen."""
        server = self.python(SERVER, str(socket.IPPROTO_TCP), str(ASKED),
                             str(answered), str(sendfile))
        self.port = int(server.stdout.readline())
        client = self.python(CLIENT, *map(str, (
            self.port, CONNECTIONS, requests, ASKED, answered)))
        asked = json.loads(client.stdout.readline())
        server.stdin.write('\n')
        server.stdin.flush()
        logged = json.loads(server.stdout.readline())
        # The last exchange of each connection ends with it, at both ends.
        count = CONNECTIONS * requests
        self.wait_for(lambda: all(
            self.edge(role).took.count >= count
            for role in transactions.Role))
        return asked, logged

    def answered(self):
        return self.monitor.read().since(self.begun).answered[base.UUID]

    def edge(self, role):
        peer = transactions.Peer(
            role, ipaddress.IPv4Address('127.0.0.1'), self.port)
        return self.answered().edges.get(peer, transactions.Edge())

    def assert_exact(self, answered, requests=REQUESTS):
        count = CONNECTIONS * requests
        server, client = map(self.edge, transactions.Role)
        self.assertEqual((count, count * ASKED, count * answered), (
            server.took.count, server.received, server.sent))
        self.assertEqual((count, count * answered, count * ASKED), (
            client.took.count, client.received, client.sent))
        self.assertEqual(count, self.answered().stats.answers)

    def assert_between(self, least, most, found):
        """Each time of the monitor is between the two times of the notes."""
        self.assertEqual(len(most), found.count)
        self.assertTrue(
            statistics.mean(least) <= found.mean_ns <= statistics.mean(most))
        for part in (0.5, 0.75, 0.9, 0.99):
            index = math.ceil(part * len(most)) - 1
            value = found.quantile_ns(part)
            self.assertLessEqual(sorted(least)[index] * 0.984, value)
            self.assertGreaterEqual(sorted(most)[index] * 1.016, value)

    def test_small_answers(self):
        asked, logged = self.exchange(ANSWERED)
        self.assert_exact(ANSWERED)
        seen = self.answered()
        # The times of the kernel lie within the times of both ends.
        all_of = [(*ask, *answer) for name, each in asked.items()
                  for ask, answer in zip(each, logged[name], strict=True)]
        self.assert_between(
            [first - read for _, _, _, _, read, first, _ in all_of],
            [end - begun for begun, end, *_ in all_of],
            self.edge(transactions.Role.CLIENT).took)
        self.assert_between(
            [before - woken for _, _, woken, before, *_ in all_of],
            [read - begun for begun, _, _, _, read, _, _ in all_of],
            seen.waiting)
        least = [first - woken for _, _, woken, _, _, first, _ in all_of]
        most = [last - begun for begun, *_, last in all_of]
        self.assert_between(least, most, seen.first)
        self.assert_between(least, most,
                            self.edge(transactions.Role.SERVER).took)

    def test_large_answers_by_sendfile(self):
        self.exchange(LARGE, 10, sendfile=1)
        self.assert_exact(LARGE, 10)

    @PROTOCOLS
    def test_a_connection_that_is_older_than_the_programs(self, protocol):
        skip_without(protocol)
        self.monitor.watch([])
        server = self.python(LATE, str(int(protocol)))
        self.port = int(server.stdout.readline())
        with socket.create_connection(('127.0.0.1', self.port)) as client:
            client.sendall(bytes(ASKED))
            server.stdout.readline()
            # Its next step is to answer, as a client would ask.
            self.monitor.watch(self.servers)
            server.stdin.write('\n')
            server.stdin.flush()
            client.recv(1)
            client.sendall(bytes(ASKED))
            client.recv(1)
            # The transaction is still open, but its answer has begun.
            self.assertEqual({}, self.answered().edges)
            self.assertEqual(1, self.answered().stats.answers)
        server.stdin.write('\n')
        server.stdin.flush()
        self.wait_for(lambda: self.answered().edges)
        [peer] = self.answered().edges
        self.assertEqual((transactions.Role.SERVER, self.port),
                         (peer.role, peer.port))
        self.assertEqual(1, self.monitor.read().network.late)

    def test_a_client_that_waits_for_its_answer_by_then(self):
        self.monitor.watch([])
        with socket.create_server(('127.0.0.1', 0)) as listener:
            port = listener.getsockname()[1]
            client = self.python(WAITING, str(port))
            server, _ = listener.accept()
            with server:
                server.recv(1)
                # Its next step is to get an answer, as a server gets a
                # request; until it sleeps, it may still be asking.
                self.wait_for(lambda: base.sleeps(client.pid))
                self.monitor.watch(self.servers)
                for _ in range(2):
                    server.sendall(b'y')
                    server.recv(1)
        client.stdout.readline()
        self.wait_for(lambda: self.answered().edges)
        [(peer, edge)] = self.answered().edges.items()
        self.assertEqual((transactions.Role.CLIENT, port),
                         (peer.role, peer.port))
        self.assertEqual(1, edge.took.count)

    def test_the_end_of_a_connection_is_not_an_answer(self):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            self.port = listener.getsockname()[1]
            client = self.python(ASKING, str(self.port))
            server, _ = listener.accept()
            with server:
                server.recv(1)
        self.assertEqual('0\n', client.stdout.readline())
        self.wait_for(lambda: self.answered().edges)
        edge = self.edge(transactions.Role.CLIENT)
        self.assertEqual((0, 1, 0), (edge.took.count, edge.sent,
                                     edge.received))

    @PROTOCOLS
    def test_a_server_that_is_older_than_the_programs(self, protocol):
        skip_without(protocol)
        self.monitor.watch([])
        server = self.python(SERVER, str(int(protocol)), str(ASKED),
                             str(ANSWERED), '0')
        self.port = int(server.stdout.readline())
        self.monitor.watch(self.servers)
        self.begun = self.monitor.read()
        client = self.python(CLIENT, *map(str, (
            self.port, CONNECTIONS, 2, ASKED, ANSWERED)))
        client.stdout.readline()
        self.wait_for(lambda: all(
            self.edge(role).took.count >= 2 * CONNECTIONS
            for role in transactions.Role))
        self.assert_exact(ANSWERED, 2)

    def exchange_by_mptcp(self, watch):
        """Returns the exchanges that are unclear at the server.

        :param watch: a function that is called between two exchanges
        """
        skip_without(socket.IPPROTO_MPTCP)
        server = self.python(SERVER, str(int(socket.IPPROTO_MPTCP)), '1', '1',
                             '0')
        self.port = int(server.stdout.readline())
        with socket.socket(proto=socket.IPPROTO_MPTCP) as client:
            client.connect(('127.0.0.1', self.port))
            for step in (watch, lambda: None):
                client.sendall(b'x')
                client.recv(1)
                step()
        self.wait_for(lambda: self.answered().edges)
        edge = self.edge(transactions.Role.SERVER)
        self.assertEqual(0, edge.took.count)
        return edge.unclear

    def test_both_ends_speak_mptcp(self):
        self.assertEqual(1, self.exchange_by_mptcp(lambda: None))

    def test_a_connection_of_mptcp_that_is_older_than_the_programs(self):
        self.monitor.watch([])
        self.assertEqual(1, self.exchange_by_mptcp(
            lambda: self.monitor.watch(self.servers)))


class WithoutEventTest(TransactionsTest):
    """On kernels before 6.16, another program sees what a socket sends."""

    def setUp(self):
        load = libbpf.Object._load

        def refuse(found, instead):
            return load(found, instead) if instead or 'tcp' not in (
                found._path) else -errno.ESRCH

        without = mock.patch.object(libbpf.Object, '_load', refuse)
        without.start()
        self.addCleanup(without.stop)
        with contextlib.closing(snapshot.Monitor()) as monitor:
            if any(name in source.reason for source in monitor.sources
                   for name in ('EPERM', 'EBUSY')):
                self.skipTest('this machine forbids programs at functions')
        super().setUp()


@base.needs_two_cpus
class LoadTest(base.AnyKernelTest):
    """Many requests at random times, by a generator of our own in C."""

    needs = transactions.Transactions.name

    def assert_right(self, case):
        found = traffic.exchange(case)
        for side in found:
            received, sent = case.asked, case.answered
            if side.role is transactions.Role.CLIENT:
                received, sent = sent, received
            self.assertEqual(
                (case.count, case.count * received, case.count * sent),
                (side.seen.took.count, side.seen.received, side.seen.sent))
            self.assertEqual(case.count, len(side.noted_ns))
        return found

    def test_many_connections(self):
        _, client = self.assert_right(
            traffic.Case(4_000, 8_000, connections=500))
        # It hardly ever loses the CPU between its clock and its call; how
        # near percentiles are is benchmarks/traffic.py's to say.
        for name, noted, seen, most in [*traffic.compare(
                client.noted_ns, client.seen.took)][1:4]:
            self.assertTrue(traffic.within(noted, seen, 4 * most), (
                name, noted, seen))

    def test_large_answers_by_sendfile(self):
        self.assert_right(traffic.Case(500, 500, answered=200_000,
                                       sendfile=True))
