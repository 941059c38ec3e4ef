# SPDX-License-Identifier: Apache-2.0

"""rt-walk itself, with requests that take next to nothing."""

import socket
import struct
import subprocess

import ddt

from paper import rtwalk
from paper import workload
from tests.unit.paper import base

Distribution = workload.Distribution

#: As in message.h: size, number, CPU time.
HEADER = struct.Struct('!IIQ')


@ddt.ddt
class RTWalkTest(base.ServerTestCase):

    def ask(self, requests=40, work_us=20, size=128, **more):
        load = workload.Workload(
            Distribution(100), Distribution(work_us, fixed=True),
            Distribution(size), **more)
        with rtwalk.server(self.endpoint):
            return rtwalk.ask(self.endpoint, load, requests, 1, ())

    @ddt.data(('udp', 1), ('udp', 5), ('tcp', 1), ('tcp', 5))
    @ddt.unpack
    def test_every_request_is_answered(self, transport, clients):
        found = self.ask(transport=transport, clients=clients, size=20_000)
        self.assertEqual(0, found.lost)
        self.assertEqual(40, len(found.responses_us()))

    def test_work_is_cpu_time(self):
        # More than receiving and replying costs, on the slowest machine.
        found = self.ask(requests=20, work_us=2000)
        self.assertGreaterEqual(found.cpu_us(), 1990)
        self.assertGreaterEqual(found.responses_us().min(), 1500)

    def test_paced_requests_come_by_the_clock(self):
        load = workload.Workload(Distribution(3000, fixed=True),
                                 Distribution(500, fixed=True))
        entered = []
        found = rtwalk.paced(load, 5, 1, entered.append)
        self.assertEqual(1, len(entered))
        self.assertEqual([3000.0 * count for count in range(1, 6)],
                         found.sent_us.tolist())
        self.assertGreaterEqual(found.responses_us().min(), 400)
        self.assertGreaterEqual(found.cpu_us(), 490)

    def test_a_paced_server_that_cannot_enter_does_not_run(self):
        with self.assertRaises(ZeroDivisionError):
            rtwalk.paced(workload.Workload(Distribution(1), Distribution(1)),
                         1, 1, lambda process: 1 // 0)

    def test_tcp_message_in_pieces(self):
        message = HEADER.pack(HEADER.size + 3, 7, 1000) + b'abc'
        with (rtwalk.server(self.endpoint), self.connected() as client,
              self.connected() as other):
            for piece in (message[:5], message[5:18], message[18:]):
                client.sendall(piece)
                # In order of arrival: by then the piece has been read.
                self.assertEqual(1, self.exchange(other, 1))
            self.assertEqual(7, self.answer(client))

    def connected(self):
        client = socket.create_connection(
            (self.endpoint.address, self.endpoint.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def exchange(self, client, number):
        client.sendall(HEADER.pack(HEADER.size, number, 0))
        return self.answer(client)

    def answer(self, client):
        size, number, _ = HEADER.unpack(
            client.recv(HEADER.size, socket.MSG_WAITALL))
        self.assertEqual(HEADER.size, size)
        return number

    def test_nonsense_over_tcp_is_hung_up_on(self):
        with rtwalk.server(self.endpoint), self.connected() as client:
            client.sendall(HEADER.pack(HEADER.size - 1, 0, 0))
            self.assertEqual(b'', client.recv(1))

    def test_nobody_there(self):
        with self.assertRaises(subprocess.CalledProcessError):
            rtwalk.ask(self.endpoint, workload.Workload(
                Distribution(100), Distribution(0), transport='tcp'), 1, 1,
                ())

    @ddt.data('0 0 15 0', '0 0 65508 0', '0 0 128 1', '0 0 128 -1')
    def test_bad_request(self, line):
        done = self.run_client('1', line)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, 'no such connection or size')

    @ddt.data('0', '1001', 'x', '1x', '')
    def test_bad_usage(self, connections):
        done = self.run_client(connections, '')
        self.assertEqual(2, done.returncode)
        self.assertRegex(done.stderr, '^usage: ')

    def run_client(self, connections, text):
        return subprocess.run(
            [rtwalk.PROGRAM, 'client', '127.0.0.1', '1', 'udp', connections],
            input=text, text=True, capture_output=True)
