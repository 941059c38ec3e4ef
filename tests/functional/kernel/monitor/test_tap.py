# SPDX-License-Identifier: Apache-2.0

"""Compares packets at an interface with the notes of both ends."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from unittest import mock
from urllib import error
from urllib import request

from cloud import settings

from benchmarks import taps
from benchmarks import traffic
from rt_monitor import groups
from rt_monitor import servers
from rt_monitor import service
from rt_monitor import snapshot
from rt_monitor import tap
from rt_monitor import transactions
from tests.functional.kernel.monitor import base
from tests.functional.kernel.monitor import test_service

_SEND = ('import socket, sys\nwith socket.socket(socket.AF_INET, '
         'socket.SOCK_DGRAM) as out:\n for _ in range(7):\n'
         '  out.sendto(bytes(33), (sys.argv[1], 5060))')
_ASK = ('import socket, sys\nwith socket.create_connection(('
        'sys.argv[1], int(sys.argv[2]))) as asks:\n for _ in range(5):\n'
        '  asks.sendall(bytes(10))\n  left = 3000\n'
        '  while left: left -= len(asks.recv(left))')
#: Answers the first byte of a client, and keeps the connection.
_REPLY = ('import socket, sys\nwith socket.create_server((sys.argv[1], 0)) '
          'as listener:\n print(listener.getsockname()[1], flush=True)\n'
          ' connection, _ = listener.accept()\n connection.recv(1)\n'
          ' connection.send(bytes(1))\n sys.stdin.read()')


class TapTest(base.ProgramsTest):

    needs = tap.Taps.name

    def watched(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.inside = stack.enter_context(taps.namespace())
        return stack.enter_context(contextlib.closing(taps.Watched()))

    def python(self, program, *words):
        subprocess.run(['nsenter', '-t', str(self.inside), '-n',
                        sys.executable, '-c', program, *words], check=True)

    @base.needs_two_cpus
    def test_a_server_inside(self):
        for case in (traffic.Case(2_000, 2_000),
                     traffic.Case(200, 100, answered=200_000)):
            noted, seen = taps.exchange(case)
            self.assertEqual(
                (len(noted), case.count * case.asked,
                 case.count * case.answered),
                (seen.took.count, seen.received, seen.sent))

    def test_an_answer_counts_before_its_connection_ends(self):
        watched = self.watched()
        with subprocess.Popen(
                ['nsenter', '-t', str(self.inside), '-n', sys.executable,
                 '-c', _REPLY, str(taps.THERE)], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            port = int(server.stdout.readline())
            with socket.create_connection((str(taps.THERE), port)) as client:
                client.sendall(b'x')
                client.recv(1)
                seen = watched.source.read(watched.register)[taps.UUID]
            server.stdin.close()
        self.assertEqual((1, {}), (seen.stats.answers, seen.edges))

    def test_a_client_inside(self):
        watched = self.watched()
        with socket.create_server((str(taps.HERE), 0)) as listener:
            port = listener.getsockname()[1]
            if not os.fork():
                self.python(_ASK, str(taps.HERE), str(port))
                os._exit(0)
            connection, _ = listener.accept()
            with connection:
                while connection.recv(10):
                    connection.sendall(bytes(3000))
        os.wait()
        edge = watched.edge(taps.HERE, transactions.Role.CLIENT, port)
        self.assertEqual((5, 50, 15_000), (
            edge.took.count, edge.sent, edge.received))

    def test_datagrams(self):
        watched = self.watched()
        self.python(_SEND, str(taps.HERE))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for _ in range(3):
                out.sendto(bytes(20), (str(taps.THERE), 53))
        found = watched.source.datagrams(watched.register)[taps.UUID]
        self.assertEqual(tap.Datagrams(7, 3, 231, 60), found)

    def test_a_container_has_its_transactions_from_sockets(self):
        watched = self.watched()
        index = socket.if_nametoindex(f'nrt{os.getpid()}')
        watched.source.apply(watched.register.update([servers.Watched(
            taps.UUID, {}, taps=(index,))]))
        watched.source.point(watched.register)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((str(taps.THERE), 9))
        self.assertEqual(
            {}, watched.source.read(watched.register)[taps.UUID].edges)

    def serve(self, port, found):
        """Starts the service, which finds these servers."""
        child = os.fork()
        if not child:
            with mock.patch.object(groups.Finder, 'find',
                                   return_value=found):
                os._exit(service.run(service.ServiceOptions(port=port)))
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGTERM)

    def test_the_service_has_another_process_attach(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(taps.namespace())
        index = socket.if_nametoindex(f'nrt{os.getpid()}')
        port = test_service.free_port()
        self.serve(port, [servers.Watched(taps.UUID, {}, taps=(index,),
                                          sockets=False)])
        opener = request.build_opener(request.ProxyHandler({}))
        wanted = re.compile(r'nova_rt_server_received_datagrams_total'
                            r'\{server="guest"\} [1-9]')
        end = time.monotonic() + settings.patience(20)
        seen = None
        while not seen:
            self.assertLess(time.monotonic(), end)
            with contextlib.suppress(error.URLError), socket.socket(
                    socket.AF_INET, socket.SOCK_DGRAM) as out:
                out.sendto(b'x', (str(taps.THERE), 53))
                with opener.open(f'http://127.0.0.1:{port}'
                                 f'{service.PATH}') as answer:
                    seen = wanted.search(answer.read().decode())

    def test_an_interface_that_is_gone(self):
        with contextlib.closing(snapshot.Monitor()) as monitor:
            gone = [servers.Watched(taps.UUID, {}, taps=(2 ** 30,))]
            monitor.watch(gone)
            monitor.follow(gone)
            self.assertEqual(tap.Datagrams(),
                             monitor.read().datagrams[taps.UUID])
