# SPDX-License-Identifier: Apache-2.0

"""Tests ``nova-rt doctor`` on this machine: its findings, and no writes.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import two_files

_SECONDS = 60

#: Python reports each of these events before it happens.
_WATCHED = """
import os, sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ('os.mkdir', 'os.rmdir', 'os.remove', 'os.rename', 'os.link',
            'os.symlink', 'os.chmod', 'os.chown', 'os.truncate', 'os.utime',
            'os.kill', 'os.system', 'os.exec', 'os.fork', 'os.posix_spawn',
            'subprocess.Popen', 'socket.connect')

def hook(event, arguments):
    if event == 'open' and (arguments[2] or 0) & WRITING:
        raise AssertionError(f'opens {arguments[0]} to write')
    if event in CHANGING:
        raise AssertionError(f'{event}{arguments}')

def refuse(*arguments):
    raise AssertionError(f'changes a task: {arguments}')

os.sched_setscheduler = os.sched_setaffinity = os.setpriority = refuse
sys.dont_write_bytecode = True
from rt_operate.commands import main
sys.addaudithook(hook)
sys.exit(main.main(['doctor', *sys.argv[1:]]))
"""


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-B', '-c', _WATCHED, *arguments], check=False,
        capture_output=True, text=True, timeout=_SECONDS)


def _changed(one: dict[str, str], other: dict[str, str]) -> set[str]:
    """The groups right below the root in which values differ."""
    return {path.split('/')[1] for path in one.keys() | other.keys()
            if one.get(path) != other.get(path)}


class DoctorTest(unittest.TestCase):

    def setUp(self) -> None:
        self.host = host_files.Host()
        self.hierarchy = survey.hierarchy_of(self.host)
        if os.geteuid() != 0:
            self.skipTest('needs root')
        if self.hierarchy is None or not pathlib.Path(
                self.hierarchy.mount, two_files.RUNTIME).exists():
            self.skipTest('the kernel has no RT_GROUP_SCHED on cgroup v1')

    def test_finds_this_kernel(self) -> None:
        done = doctor('-f', 'json')
        self.assertEqual('', done.stderr)
        # The status is 2 if another test, or a guest, is in the middle of a
        # change.
        self.assertIn(done.returncode, (0, 1, 2))
        found = json.loads(done.stdout)
        self.assertEqual('rt_group_sched', found['interface'])
        self.assertLessEqual(found['capacity_ppm'], 950_000)
        texts = {one['id']: one['text'] for one in found['findings']}
        self.assertTrue(texts['kernel.interface'].startswith('F1 '))
        self.assertEqual([], [text for text in texts.values()
                              if 'could not be completed' in text])

    def test_a_host_at_rest_has_no_problem(self) -> None:
        end = time.monotonic() + _SECONDS
        done = doctor()
        while done.returncode not in (0, 1):
            self.assertLess(time.monotonic(), end, done.stdout)
            time.sleep(1)
            done = doctor()
        self.assertEqual('', done.stderr)
        self.assertRegex(done.stdout,
                         r'\n0 problems, \d+ warnings?, \d+ OK\n$')

    def test_changes_nothing(self) -> None:
        """No value of a group changes, unless others change it."""
        end = time.monotonic() + _SECONDS
        while True:
            first = self._values()
            time.sleep(0.5)
            before = self._values()
            done = doctor()
            after = self._values()
            self.assertEqual('', done.stderr)
            self.assertIn('/cpu.rt_runtime_us', before)
            if _changed(before, after) <= _changed(first, before):
                break
            self.assertLess(time.monotonic(), end,
                            _changed(before, after))

    def test_is_quick(self) -> None:
        """The limit is on CPU time, because other tests run meanwhile."""
        before = os.times()
        doctor()
        after = os.times()
        spent = sum(after[2:4]) - sum(before[2:4])
        self.assertLess(spent, 1)

    def _values(self) -> dict[str, str]:
        assert self.hierarchy is not None
        top = self.hierarchy.mount
        found = {}
        for path, _, names in os.walk(top):
            for name in names:
                file = os.path.join(path, name)
                # The other files count, or list who is there.
                if name.startswith('cpu.') and 'stat' not in name:
                    with contextlib.suppress(OSError):  # gone meanwhile
                        found[file.removeprefix(top)] = self.host.read(file)
        return found
