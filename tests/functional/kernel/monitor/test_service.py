# SPDX-License-Identifier: Apache-2.0

"""Tests nova-rt-monitor as a process: privileges, answers, and a crash."""

import configparser
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest
from urllib import error
from urllib import request

from cloud import settings
from prometheus_client import parser

from rt_monitor import privileges
from tests.functional.kernel.monitor import base

_START = ('import sys; from rt_operate.commands import serve; '
          'sys.exit(serve.main(sys.argv[1:]))')
_SECONDS = settings.patience(20)
_UNIT = (pathlib.Path(__file__).parents[4]
         / 'etc/systemd/nova-rt-monitor.service')


def free_port():
    with socket.socket() as found:
        found.bind(('127.0.0.1', 0))
        return found.getsockname()[1]


def status(pid, name):
    text = pathlib.Path(f'/proc/{pid}/status').read_text()
    [line] = [line for line in text.splitlines()
              if line.startswith(f'{name}:')]
    return line.split()[1:]


def children(pid):
    """Returns its children, also without CONFIG_PROC_CHILDREN."""
    return [int(each) for each in os.listdir('/proc')
            if each.isdecimal() and parent(each) == pid]


def parent(pid):
    """Returns the parent of a process, 0 if the process has ended."""
    try:
        text = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return 0
    return int(text.rpartition(')')[2].split()[1])


class StartedTest(unittest.TestCase):
    #: The command that starts the service, and its options.
    STARTER = OPTIONS = ()

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        self.port = free_port()
        self.service = subprocess.Popen(
            [*self.STARTER, sys.executable, '-W', 'ignore', '-c', _START,
             '--port', str(self.port), *self.OPTIONS],
            stdin=subprocess.DEVNULL)
        self.addCleanup(self.service.wait)
        self.addCleanup(self.service.kill)
        self.end = time.monotonic() + _SECONDS
        self.metrics = self.eventually(self.ask)

    def eventually(self, look_for):
        while True:
            found = look_for()
            if found:
                return found
            self.assertLess(time.monotonic(), self.end)
            time.sleep(0.02)

    def ask(self):
        opener = request.build_opener(request.ProxyHandler({}))
        try:
            with opener.open(f'http://127.0.0.1:{self.port}/metrics') as got:
                text = got.read().decode()
        except error.URLError:
            return None  # not yet
        return {(sample.name, sample.labels.get('source')): sample
                for family in parser.text_string_to_metric_families(text)
                for sample in family.samples}


class ServiceTest(StartedTest):

    def test_answers_without_privileges(self):
        reason = base.why_not()
        if reason:
            self.skipTest(reason)
        for name in ('sched', 'tcp', 'tap'):
            if base.why_not(name):
                continue
            source = self.metrics['nova_rt_monitor_source', name]
            self.assertEqual('on', source.labels['state'], source)
        [finder] = children(self.service.pid)
        for pid, left in ((self.service.pid, 0),
                          (finder, 1 << privileges.CAP_DAC_READ_SEARCH)):
            self.assertNotIn('0', status(pid, 'Uid'))
            self.assertNotIn('0', status(pid, 'Gid'))
            self.assertEqual([], status(pid, 'Groups'))
            self.assertEqual([f'{each:016x}' for each in (left, left, 0, 0)],
                             [status(pid, f'Cap{name}')[0] for name in (
                                 'Eff', 'Prm', 'Inh', 'Amb')])
            self.assertEqual(['1'], status(pid, 'NoNewPrivs'))

    def test_listens_at_one_address(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(('127.0.0.2', self.port))

    def test_ends_by_a_signal(self):
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.service.wait(_SECONDS))

    def test_killed(self):
        [finder] = children(self.service.pid)
        self.service.kill()
        self.service.wait()
        self.eventually(lambda: not os.path.exists(f'/proc/{finder}'))

    def test_ends_if_nobody_finds_servers(self):
        os.kill(children(self.service.pid)[0], signal.SIGKILL)
        self.assertEqual(1, self.service.wait(_SECONDS))


class RefusedTest(unittest.TestCase):

    def test_an_ordinary_user(self):
        """The service names the missing rights before it starts a process."""
        if os.geteuid() != 0:
            self.skipTest('needs root')
        if not all(folder.stat().st_mode & stat.S_IXOTH
                   for folder in pathlib.Path(__file__).parents):
            self.skipTest('an ordinary user cannot read this folder')
        done = subprocess.run(
            ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup',
             '--clear-groups', sys.executable, '-W', 'ignore', '-c', _START],
            check=False, capture_output=True, text=True, timeout=_SECONDS)
        self.assertEqual(
            (1, '', 'nova-rt-monitor: Cannot monitor this host: this process '
             'lacks CAP_DAC_READ_SEARCH, CAP_BPF, CAP_PERFMON; run it as '
             'root.\n'),
            (done.returncode, done.stdout, done.stderr))


def unit():
    """Does the steps of systemd for the unit, without systemd."""
    found = configparser.ConfigParser(strict=False)
    found.read(_UNIT)
    granted = [name.removeprefix('CAP_').lower() for name in
               found['Service']['AmbientCapabilities'].split()]
    caps = ','.join(['-all', *(f'+{name}' for name in granted)])
    return ('setpriv', '--reuid', 'nobody', '--regid', 'nogroup',
            '--clear-groups', '--no-new-privs', f'--inh-caps={caps}',
            f'--ambient-caps={caps}', f'--bounding-set={caps}')


class UnitTest(ServiceTest):
    """Runs the service as the unit does, which never is root."""

    STARTER = unit()


class PushTest(StartedTest):
    """Starts a service that also pushes, to a port at which nobody listens."""

    def setUp(self):
        with socket.socket() as found:
            found.bind(('127.0.0.1', 0))
            host, port = found.getsockname()
            self.OPTIONS = ('--otlp-endpoint', f'http://{host}:{port}/',
                            '--otlp-interval', '1')
        super().setUp()

    def test_fails_and_harms_nothing(self):
        self.eventually(lambda: self.ask()[
            'nova_rt_monitor_failed_pushes_total', None].value)
