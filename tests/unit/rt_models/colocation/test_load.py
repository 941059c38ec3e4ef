# SPDX-License-Identifier: Apache-2.0

"""The traffic for functions, and the counts of their work."""

import socket
import struct
import subprocess
import sys
import time

import fixtures
from oslotest import base

from rt_models.colocation import capture
from rt_models.colocation import load

_PATIENCE_S = 20


#: In a process: other tests may have replaced the threads of this one.
_SERVER = '''\
import http.server, sys
class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200 if self.path == '/' else 404)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')  # in a piece of its own
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)
print(server.server_port, flush=True)
server.serve_forever()
'''


class LoadTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.counter = self.useFixture(fixtures.TempDir()).join('count')
        load.begin(self.counter)

    def _start(self, *words):
        process = subprocess.Popen(
            [sys.executable, '-S', load.__file__, *words],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def _until(self, count):
        end = time.monotonic() + _PATIENCE_S
        while load.count(self.counter) < count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_a_count_begins_at_nothing_and_grows(self):
        self.assertEqual(0, load.count(self.counter))
        counter = load.Counter(self.counter)
        counter.add(3)
        counter.add(4)
        self.assertEqual(7, load.count(self.counter))

    def test_packets_have_the_size(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
            sink.bind(('127.0.0.1', 0))
            sink.settimeout(_PATIENCE_S)
            self._start('packets', '127.0.0.1', str(sink.getsockname()[1]),
                        '64', '2')
            found = {sink.recvfrom(2000) for _ in range(500)}
        self.assertEqual({64}, {len(data) for data, _ in found})
        self.assertEqual(2, len({address for _, address in found}))

    def test_answers_are_counted(self):
        server = subprocess.Popen([sys.executable, '-S', '-c', _SERVER],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        self._start('requests', self.counter, '127.0.0.1',
                    server.stdout.readline().strip(), '3')
        self._until(20)

    def test_an_answer_that_is_none(self):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            process = self._start(
                'requests', self.counter, '127.0.0.1',
                str(listener.getsockname()[1]), '1')
            # The first times may be too early; then one that is good.
            for answer in (b'502 Bad Gateway', b'200 OK', b'502 Late'):
                client, _ = listener.accept()
                with client:
                    client.recv(1000)
                    client.sendall(b'HTTP/1.1 ' + answer + b'\r\n\r\n')
            _, said = process.communicate(timeout=_PATIENCE_S)
        self.assertEqual('the answer is not an HTTP 200 with a '
                         'Content-Length\n', said)
        self.assertEqual(0, load.count(self.counter))

    def test_runs_are_added_up(self):
        self._start('runs', self.counter, r'^(\d+) ', 'printf', '3 a\n4 b\n')
        self._until(21)
        self.assertEqual(0, load.count(self.counter) % 7)

    def test_a_run_that_says_nothing(self):
        process = self._start('runs', self.counter, r'(\d)', 'true')
        _, said = process.communicate(timeout=_PATIENCE_S)
        self.assertEqual('no line of the output of the command matches '
                         '(\\d)\n', said)


class CaptureTest(base.BaseTestCase):

    def test_all_packets_are_whole(self):
        path = self.useFixture(fixtures.TempDir()).join('c')
        capture.write(path)
        with open(path, 'rb') as file:
            data = file.read()
        at, ports = 24, set()
        while at < len(data):
            _, _, kept, length = struct.unpack_from('<IIII', data, at)
            packet = data[at + 16:at + 16 + kept]
            self.assertEqual(kept, length)
            self.assertEqual(kept - 14, struct.unpack_from(
                '!H', packet, 16)[0])
            ports.add(struct.unpack_from('!H', packet, 36)[0])
            at += 16 + kept
        self.assertEqual(len(data), at)
        self.assertEqual({53, 80, 40000}, ports)
