# SPDX-License-Identifier: Apache-2.0

"""Functions of a profile in namespaces and groups of this machine."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

from cloud import settings

from nova_rt.rules import exception
from rt_models.colocation import profile
from rt_models.colocation import trial
from tests.functional.kernel import base

_COMMAND = ('import sys; from rt_operate.commands import main; '
            'sys.exit(main.main(sys.argv[1:]))')
_ROUTER = ('format: nova-rt-profile/1\ntype: router\n'
           'load: {size: 64, flows: 2}\nwork: packets\n')
_LOOP = ('format: nova-rt-profile/1\ntype: loop\nwork: {runs: {in: server, '
         'run: [echo, "did 7"], count: "did (.)"}}\n')
_FAILS = 'prepare: [{in: server, run: [sh, -c, "echo no >&2; exit 1"]}]\n'
_ENDS = 'start: [{in: server, run: [sh, -c, "echo oh >&2"]}]\n'


class ColocationTest(base.RealKernelTest):

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        self.scratch = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(
            tempfile, 'tempdir', str(self.scratch)))
        self.enterContext(mock.patch.dict(
            os.environ, {'TMPDIR': str(self.scratch)}))
        self.addCleanup(self._nothing_is_left)

    def _nothing_is_left(self) -> None:
        self.assertEqual([], self._left())

    def _left(self) -> list[pathlib.Path]:
        return self._groups() + [*self.scratch.iterdir()]

    def _groups(self) -> list[pathlib.Path]:
        return [path for tree in {self.cpu, base.mount('cpuacct')}
                for path in pathlib.Path(tree).glob('nova-rt-interference-*')]

    def _file(self, text: str) -> str:
        path = self.folder / f'{len([*self.folder.iterdir()])}.yaml'
        path.write_text(text)
        return str(path)

    def _measure(self, *texts: str) -> list[float]:
        return trial.measure([profile.load(self._file(text))
                              for text in texts],
                             trial.Setting((0, 0), None, 0.2, 0.0))

    def test_two_at_once(self) -> None:
        forwarded, looped = self._measure(_ROUTER, _LOOP)
        self.assertGreater(forwarded, looped)
        self.assertGreater(looped, 0)

    def test_a_command_that_fails(self) -> None:
        for text, said in ((_FAILS, 'no'), (_ENDS, 'oh')):
            with self.assertRaisesRegex(exception.CannotMeasure,
                                        f'measured, since {said}.$'):
                self._measure(_ROUTER + text)

    def test_nothing_outlives_a_kill(self) -> None:
        """The group, its processes, and with them the namespaces, are gone."""
        command = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', _COMMAND, 'interference',
             'measure', self._file(_ROUTER), '--cpus', '0', '0',
             '-o', str(self.folder / 'out')], stdout=subprocess.DEVNULL)
        end = time.monotonic() + settings.patience(30)
        while not self._processes() and time.monotonic() < end:
            time.sleep(0.01)
        processes = self._processes()
        self.assertTrue(processes)
        command.send_signal(signal.SIGKILL)
        command.wait()
        while self._left() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([], [pid for pid in processes if self._runs(pid)])

    @staticmethod
    def _runs(pid: str) -> bool:
        try:
            text = pathlib.Path('/proc', pid, 'stat').read_text()
        except OSError:
            return False
        # A process whose parent was killed may wait for another parent.
        return text.rpartition(')')[2].split()[0] != 'Z'

    def _processes(self) -> list[str]:
        return [pid for group in self._groups()
                for pid in (group / 'cgroup.procs').read_text().split()]
