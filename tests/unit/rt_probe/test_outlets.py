# SPDX-License-Identifier: Apache-2.0

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import fixtures
from oslotest import base

from rt_probe import errors
from rt_probe import outlets
from tests.unit.rt_probe import test_report

TEXT = test_report.REPORT.as_prometheus()


class TextfileTest(base.BaseTestCase):

    def test_replaced_as_a_whole(self):
        directory = self.useFixture(fixtures.TempDir()).path
        outlet = outlets.Textfile(f'{directory}/a.prom')
        for one in (test_report.BOUND, test_report.REPORT):
            outlet.put(one)
        with open(f'{directory}/a.prom', encoding='ascii') as file:
            self.assertEqual(TEXT, file.read())
        self.assertEqual(['a.prom'], os.listdir(directory))

    def test_cannot_be_written(self):
        outlet = outlets.Textfile('/proc/no/a.prom')
        error = self.assertRaises(errors.ProbeError, outlet.put,
                                  test_report.REPORT)
        self.assertEqual('/proc/no/a.prom cannot be written: No such file or '
                         'directory', str(error))


class LinesTest(base.BaseTestCase):

    def test_device_is_full(self):
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run(
                [sys.executable, '-m', 'rt_probe', 'run', '--interval',
                 '0.05'], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(
            (1, 'rt-probe: standard output cannot be written: No space left '
             'on device\n'), (done.returncode, done.stderr))


class SixthVersionTest(base.BaseTestCase):

    def test_listens(self):
        if not socket.has_ipv6:
            self.skipTest('needs IPv6')
        listener = outlets.Listener('::1', 0)
        with socket.create_connection(('::1', listener.port), timeout=30):
            pass


class ListenerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.listener = outlets.Listener('127.0.0.1', 0)
        self.listener.put(test_report.REPORT)
        self.over = threading.Event()
        thread = threading.Thread(target=self.serve)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.over.set)

    def serve(self):
        while not self.over.is_set():
            self.listener.wait(time.monotonic() + 0.05)

    def get(self, path):
        address = f'http://127.0.0.1:{self.listener.port}{path}'
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=30) as answer:
            return answer.headers['Content-Type'], answer.read().decode()

    def test_metrics(self):
        kind, text = self.get('/metrics')
        self.assertEqual(TEXT, text)
        self.assertEqual('text/plain; version=0.0.4; charset=utf-8', kind)

    def test_other_path(self):
        error = self.assertRaises(urllib.error.HTTPError, self.get, '/')
        self.assertEqual(404, error.code)

    def test_client_that_says_nothing_does_not_stop_it(self):
        with socket.create_connection(('127.0.0.1', self.listener.port)):
            self.assertEqual(TEXT, self.get('/metrics')[1])

    def test_taken(self):
        error = self.assertRaises(
            errors.ProbeError, outlets.Listener, '127.0.0.1',
            self.listener.port)
        self.assertRegex(str(error), '^127.0.0.1:[0-9]+ cannot be listened '
                                     'on: Address already in use')
