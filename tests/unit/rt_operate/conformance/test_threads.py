# SPDX-License-Identifier: Apache-2.0

"""operate.conformance.threads on files that stand in for control groups.

With a real kernel: tests/functional/kernel.
"""

import errno
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from nova_rt.machine.host import proc
from nova_rt.machine import sched_setattr
from nova_rt.rules import exception
from rt_operate.conformance import stage
from rt_operate.conformance import threads


class StageTest(unittest.TestCase):

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.mount = pathlib.Path(directory.name)
        (self.mount / 'cgroup.subtree_control').write_text('cpu')
        self.one = min(os.sched_getaffinity(0))
        self.started: list[tuple[str, int, int, bool]] = []
        self.refuse = [0]
        for target, name, new in (
                (sched_setattr, 'start', self.start),
                (threads, '_RETURN_SECONDS', 60)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.stage = threads.DeadlineStage(
            directory.name, (self.one, self.one), 900_000, (0, 1))
        self.addCleanup(self.end)

    def end(self) -> None:
        for processes in self.stage._busy.values():
            for process in processes:
                process.kill()

    def start(self, thread: int, runtime: int, period: int, reclaim: bool
              ) -> None:
        number = self.refuse.pop() if len(self.refuse) > 1 else (
            self.refuse[0])
        if number:
            raise OSError(number, os.strerror(number))
        self.started.append((self.cpus(), runtime, period, reclaim))

    def cpus(self, name: str = 'a') -> str:
        return (self.mount / stage.TOP / name / 'cpuset.cpus').read_text()

    def test_wide_for_the_change_and_narrow_after_it(self) -> None:
        process = self.stage.group('a', 40_000, 100_000)
        self.assertEqual(f'{self.one}\n', self.cpus())
        self.stage.reserve('a', 50_000, 100_000)
        self.assertEqual([('0-1\n', 40_000, 100_000, False),
                          ('0-1\n', 50_000, 100_000, False)], self.started)
        self.assertEqual(f'{self.one}\n', self.cpus())
        self.assertEqual(f'{process.pid}\n', (
            self.mount / stage.TOP / 'a' / 'cgroup.procs').read_text())

    def test_a_foreign_thread_is_on_the_same_cpu(self) -> None:
        self.stage.group('a', 1_000, 100_000)
        self.stage.foreign(30_000, 100_000)
        self.assertTrue(self.started[1][3])
        self.assertEqual(f'{self.one}\n', self.cpus('foreign'))

    def test_room_that_comes_back_in_time(self) -> None:
        self.refuse = [0, errno.EBUSY, errno.EBUSY]
        self.stage.group('a', 40_000, 100_000)
        self.assertEqual(1, len(self.started))

    def test_refused(self) -> None:
        for number in (errno.EBUSY, errno.EPERM):
            self.refuse = [number]
            with (mock.patch.object(threads, '_RETURN_SECONDS', 0),
                  self.assertRaisesRegex(exception.KernelError,
                                         os.strerror(number))):
                self.stage.group('a', 40_000, 100_000)
            self.end()

    def test_cpusets_of_cgroup_v1_are_filled(self) -> None:
        for name in (stage.TOP, f'{stage.TOP}/a'):
            group = self.mount / name
            group.mkdir()
            for file in ('tasks', 'cpuset.mems'):
                (group / file).write_text('')
        (self.mount / 'cpuset.mems').write_text('0\n')
        self.stage.group('a', 40_000, 100_000)
        self.assertEqual('0\n', (self.mount / stage.TOP / 'a'
                                 / 'cpuset.mems').read_text())

    def test_what_it_does_not_promise(self) -> None:
        self.assertIn('overfull', self.stage.known)
        self.assertIn('migration', self.stage.skipped)
        alone = threads.DeadlineStage(str(self.mount), (0, 0), 900_000, (0,))
        self.assertEqual({'reclaim'}, {*alone.known})


class SpareTest(unittest.TestCase):

    def check(self, *tasks: proc.Task, ppm: int = 900_000) -> None:
        with mock.patch.object(proc, 'by_deadline', lambda host: tasks):
            threads.check_spare(900_000, ppm)

    def test_spare(self) -> None:
        self.check(proc.Task(9, 9, 2, 'sugov:0', True, 6, 0))
        with self.assertRaisesRegex(exception.KernelError, '7 CPU 0/KVM'):
            self.check(proc.Task(7, 7, 1, 'CPU 0/KVM', False, 6, 0))
        with self.assertRaisesRegex(exception.KernelError, '850001 ppm'):
            self.check(ppm=850_001)
