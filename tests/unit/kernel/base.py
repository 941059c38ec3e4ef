# SPDX-License-Identifier: Apache-2.0

"""What the tests of nova_rt.kernel share: an emulated kernel."""

from collections.abc import Callable, Mapping
import os
import unittest
from unittest import mock

from nova_rt.kernel import base
from nova_rt.kernel import rt_group_sched
from tests.emulation import rt_group_sched as emulation

PLAIN = '/machine'
LEAF = '/machine/lxc-7-a.libvirt-lxc'
OTHER = '/machine/lxc-8-b.libvirt-lxc'
#: with systemd
DEEP = '/machine.slice/machine-lxc\\x2d7.scope/libvirt'
DEEPER = '/machine.slice/machine-lxc\\x2d8.scope/libvirt'


def budget(runtime: int, period: int) -> base.Budget:
    return base.Budget({0: runtime}, period)


def mkdirs(kernel: emulation.Kernel, *groups: str) -> None:
    """Groups with their ancestors."""
    for group in groups:
        parts = group.strip('/').split('/')
        for depth in range(len(parts)):
            path = '/' + '/'.join(parts[:depth + 1])
            if path not in kernel.snapshot():
                kernel.mkdir(path)


def refuse(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def refuse_nth(kernel: emulation.Kernel, nth: int, number: int) -> None:
    """Refuse the *nth* write (from 0) from now on, whenever it is tried.

    Other writes pass, so that an undo can work.
    """
    seen: list[tuple[str, str]] = []

    def intercept(path: str, text: str) -> None:
        if (path, text) not in seen:
            seen.append((path, text))
        if len(seen) > nth and seen[nth] == (path, text):
            raise refuse(number)

    kernel.intercept = intercept


class KernelTest(unittest.TestCase):
    """Production code on the emulation, with a clock of its own."""

    def setUp(self) -> None:
        self.kernel = self.new_kernel()
        self.interface = self.detected(self.kernel)

    def new_kernel(self, cpus: int = 4) -> emulation.Kernel:
        kernel = emulation.Kernel(cpus)
        patch = mock.patch.object(rt_group_sched, 'time', kernel.clock)
        patch.start()
        self.addCleanup(patch.stop)
        return kernel

    def detected(self, kernel: emulation.Kernel
                 ) -> rt_group_sched.RtGroupSched:
        found = rt_group_sched.RtGroupSched.detect(kernel)
        assert found is not None
        return found

    def writes_of(self, action: Callable[[], object]
                  ) -> list[tuple[str, str, str]]:
        """(group, file, text) of the writes of *action*, in order."""
        self.kernel.written.clear()
        action()
        found = []
        for path, text in self.kernel.written:
            group, _, name = path.rpartition('/')
            found.append((group.removeprefix(emulation.CPU_MOUNT) or '/',
                          name.removeprefix('cpu.rt_').removesuffix('_us'),
                          text))
        return found

    def assert_tight(self, kernel: emulation.Kernel, top: str) -> None:
        """Each group that has children holds just what they do."""
        assert_tight(self, kernel.snapshot(), top)


def assert_tight(test: unittest.TestCase,
                 found: Mapping[str, tuple[int, int]], top: str) -> None:
    for group, (runtime, period) in found.items():
        below = [values for name, values in found.items()
                 if name.rpartition('/')[0] == group]
        inside = group == top or group.startswith(top + '/')
        if inside and below:
            total = sum(emulation.ratio(*values) for values in below)
            test.assertEqual(1_000_000, period, group)
            test.assertEqual(-(-total * 1_000_000 >> 20), runtime, group)
