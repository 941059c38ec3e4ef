# SPDX-License-Identifier: Apache-2.0

"""Tests a server that its budget throttles, the advice, and a server with it.

The test starts a program in the container, which answers each request after
some CPU time.  Requests come at random times, whether or not the request
before is answered.  The client notes how long each request took.
"""

import asyncio
from collections.abc import Iterator
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from typing import Any

from demo import host
import openstack

from tests.cloud import base
from tests import seeds

#: With the CPU time of Python, this is somewhat more than the first
#: reservation.
RATE_HZ, WORK_S = 80, 0.0012
#: With so few requests no higher percentile is reliable.
TARGET_MS, PART = 20, 0.9
SECONDS = 6
#: The policy of the client: its waits for a CPU must not count as the
#: server's.
_NICE = -20

_MAIN = ('import sys; from rt_operate.commands import main; '
         'sys.exit(main.main())')

SERVICE = '''
import socket, sys, time
listening = socket.create_server(('127.0.0.1', 0), backlog=1000)
print(listening.getsockname()[1], flush=True)
while True:
    connection, _ = listening.accept()
    with connection:
        connection.recv(100)
        end = time.thread_time() + float(sys.argv[1])
        while time.thread_time() < end:
            pass
        connection.sendall(b'done')
'''


class Clients:
    """Sends requests at random times.

    :ivar took: how long each took, in s
    """

    def __init__(self, port: int, rate_hz: int = RATE_HZ) -> None:
        self._port = port
        self.rate_hz = rate_hz
        self._rng = random.Random(seeds.seed())  # noqa: S311
        self.took: list[float] = []

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(
            self._send(stop)))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    async def _send(self, stop: threading.Event) -> None:
        # This affects this thread only.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        due = time.monotonic()
        async with asyncio.TaskGroup() as sent:
            while not stop.is_set():
                due += self._rng.expovariate(self.rate_hz)
                await asyncio.sleep(due - time.monotonic())
                sent.create_task(self._ask())

    async def _ask(self) -> None:
        begun = time.monotonic()
        reader, writer = await asyncio.open_connection(
            '127.0.0.1', self._port)
        writer.write(b'x')
        await reader.read()
        self.took.append(time.monotonic() - begun)
        writer.close()

    @property
    def percentile_ms(self) -> float:
        return 1000 * sorted(self.took)[int(len(self.took) * PART)]


@contextlib.contextmanager
def service(server: host.Server) -> Iterator[int]:
    """Starts a service as a task of a container; returns its port."""
    with subprocess.Popen([sys.executable, '-c', SERVICE, str(WORK_S)],
                          text=True, stdout=subprocess.PIPE) as child:
        try:
            for controller in ('cpuset', 'cpu', 'cpuacct'):
                group = server.below(controller) / server.group
                (group / 'cgroup.procs').write_text(str(child.pid))
            os.sched_setscheduler(child.pid, os.SCHED_RR, os.sched_param(1))
            assert child.stdout
            yield int(child.stdout.readline())
        finally:
            child.kill()


class AdviceTestCase(base.CloudTestCase):

    def used(self, server: openstack.compute.v2.server.Server
             ) -> tuple[float, dict[str, Any]]:
        """Uses the server for some time.

        :returns: the percentile that who asked saw, in ms, and the advice
        """
        with service(self.on_host(server)) as port:
            clients = Clients(port)
            with clients.at_work():
                advice = subprocess.run(
                    [sys.executable, '-W', 'ignore', '-c', _MAIN, 'advise',
                     server.id, '--target-ms', str(TARGET_MS),
                     '--percentile', str(PART), '--seconds', str(SECONDS),
                     '-f', 'json'], text=True, capture_output=True)
        self.assertEqual(0, advice.returncode, advice.stderr)
        return clients.percentile_ms, json.loads(advice.stdout)

    def resize(self, server: openstack.compute.v2.server.Server,
               flavor: str) -> None:
        self.cloud.compute.resize_server(server, flavor)
        self.cloud.compute.wait_for_server(
            server, status='VERIFY_RESIZE', wait=base.PATIENCE, interval=0.1)
        self.cloud.compute.confirm_server_resize(server)
        self.cloud.compute.wait_for_server(
            server, wait=base.PATIENCE, interval=0.1)

    def test_a_throttled_server(self) -> None:
        server = self.boot(self.flavor(10_000, 100_000), image='lxc-busybox')
        before_ms, advice = self.used(server)
        self.assertGreater(before_ms, TARGET_MS)
        self.assertGreater(advice['measured_us'], 1000 * TARGET_MS)
        wanted = advice['wanted']
        self.resize(server, self.flavor(wanted['runtime_us'],
                                        wanted['period_us']))
        after_ms, advice = self.used(server)
        # The client itself has to wait for a CPU on a busy machine.
        self.assertLess(after_ms, before_ms)
        self.assertLess(advice['measured_us'], 1000 * TARGET_MS)
        self.assert_nothing_remains()
