# SPDX-License-Identifier: Apache-2.0

"""The common part of the tests of the emulated kernels."""

import errno
import os
import posixpath
import unittest

from nova_rt.machine.host import cgroup
from tests.emulation import clock
from tests.emulation import guard
from tests.emulation import kernel as emulation
from tests.emulation import kernels
from tests.emulation import paths

FIFO = os.SCHED_FIFO
OTHER = os.SCHED_OTHER
SHORT = cgroup.SHORT_WRITE


class EmulationTest(unittest.TestCase):
    """A kernel with the groups /a, /a/b, /a/c and /d."""

    #: which of KERNELS
    name = 'F1'
    GROUPS: tuple[str, ...] = ('/a', '/a/b', '/a/c', '/d')

    def setUp(self) -> None:
        self.clock = clock.Clock()
        self.kernel = self.new_kernel()
        self.prepare()

    def new_kernel(self) -> emulation.Kernel:
        return kernels.KERNELS[self.name](4, self.clock)

    def prepare(self) -> None:
        for group in self.GROUPS:
            if self.kernel.version == 2:
                self.subtree(posixpath.dirname(group), '+cpu +cpuset')
            self.kernel.mkdir(group)

    def path(self, group: str, name: str) -> str:
        mount = paths.CPU_MOUNT
        if self.kernel.version == 2:
            mount = paths.UNIFIED_MOUNT
        elif name.startswith('cpuset.'):
            mount = paths.CPUSET_MOUNT
        return posixpath.join(mount, group.strip('/'), name)

    def write(self, group: str, name: str, text: str) -> str:
        """'' for success, else the errno's name or SHORT."""
        try:
            self.kernel.write(self.path(group, name), text)
        except OSError as error:
            if cgroup.is_short(error):
                return SHORT
            return errno.errorcode[error.errno or 0]
        return ''

    def read(self, group: str, name: str) -> str:
        return self.kernel.read(self.path(group, name))

    def runtime(self, group: str, value: object) -> str:
        return self.write(group, 'cpu.rt_runtime_us', str(value))

    def period(self, group: str, value: object) -> str:
        return self.write(group, 'cpu.rt_period_us', str(value))

    def subtree(self, group: str, text: str) -> str:
        return self.write(group, paths.SUBTREE, text)

    def task(self, group: str, policy: int = OTHER, thread: int = 7) -> int:
        """A task, put there as it is, without any test."""
        self.kernel.spawn(thread, group).policy = policy
        return thread

    def policy(self, thread: int, policy: int) -> str:
        return self.result(lambda: self.kernel.set_policy(
            thread, policy, 0 if policy == OTHER else 1))

    def move(self, thread: int, group: str) -> str:
        return self.result(lambda: self.kernel.move(thread, 'cpu', group))

    def result(self, action: object) -> str:
        try:
            action()  # type: ignore[operator]
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return ''

    def assert_ok(self, *results: str) -> None:
        self.assertEqual([''] * len(results), list(results))

    def assert_dies(self, action: object) -> None:
        with self.assertRaises(guard.HostDied):
            action()  # type: ignore[operator]
        with self.assertRaises(guard.HostDied):
            self.kernel.snapshot()
