# SPDX-License-Identifier: Apache-2.0

"""Production code on emulated kernels through real system calls."""

import errno
import os
import posixpath
import unittest
from unittest import mock

import ddt

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine import privsep
from nova_rt.rules import reservation
from rt_models.colocation import group
from tests.emulation import clock
from tests.emulation import kernels
from tests.emulation import mount
from tests.emulation import rt_max
from tests.emulation import scalars
from tests.emulation import tasks

ROOT_PPM = 900_000
BUDGET = base.Budget({0: 20_000, 1: 20_000}, 100_000)


def write(path: str, text: str) -> int:
    """Does one write(2); returns its count."""
    handle = os.open(path, os.O_WRONLY)
    try:
        return os.write(handle, text.encode())
    finally:
        os.close(handle)


class FuseTest(unittest.TestCase):
    """Each test mounts a kernel."""

    def setUp(self) -> None:
        reason = mount.why_not()
        if reason:
            self.skipTest(reason)

    def mount(self, name: str) -> None:
        self.clock = clock.Clock()
        self.kernel = kernels.KERNELS[name](4, self.clock)
        self.fs = self.enterContext(mount.mounted(self.kernel))
        self.enterContext(clock.waiting(self.clock))
        self.enterContext(mock.patch.object(
            privsep, 'TOPS', {'machine', 'a'}))
        self.top = self.fs.mounts()[1][0]

    def path(self, *parts: str) -> str:
        return posixpath.join(self.top, *parts)

    def new_group(self, name: str) -> None:
        os.mkdir(self.path(name))
        if self.kernel.version == 2:
            write(self.path('cgroup.subtree_control'), '+cpu\n')

    def assert_errno(self, number: int, path: str, text: str) -> None:
        with self.assertRaises(OSError) as caught:
            write(path, text)
        self.assertEqual(errno.errorcode[number],
                         errno.errorcode[caught.exception.errno or 0])


@ddt.ddt
class EachKernelTest(FuseTest):
    """Tests the behaviour that is the same on all kernels."""

    @ddt.data(*kernels.KERNELS)
    def test_a_guest(self, name: str) -> None:
        """The kernel is detected, and a budget is given and taken."""
        self.mount(name)
        found = detect.detect(self.fs)
        assert found is not None
        self.assertEqual(kernels.KERNELS[name].interface, found.name)
        found.prepare(ROOT_PPM)
        found.settle('/machine')
        guests = tasks.Guests(self.kernel)
        keeper = guests.start('a', '0-1')
        group = guests.group(keeper)
        found.reserve({group: BUDGET})
        held = self.kernel.granted()[group]
        self.assertEqual((20_000, 100_000), held[1])
        self.assertEqual(found.read(group), base.Budget(
            {cpu: runtime for cpu, (runtime, _) in held.items()}, 100_000))
        guests.stop(keeper)
        found.settle('/machine')
        self.assertEqual({}, self.kernel.granted())

    @ddt.data(*kernels.KERNELS)
    def test_directories(self, name: str) -> None:
        self.mount(name)
        self.new_group('a')
        os.mkdir(self.path('a', 'b'))
        self.assertEqual([self.path('a', 'b')],
                         self.fs.children(self.path('a')))
        with self.assertRaises(FileExistsError):
            os.mkdir(self.path('a'))
        with self.assertRaises(OSError) as caught:
            os.rmdir(self.path('a'))
        self.assertEqual(errno.EBUSY, caught.exception.errno)
        os.rmdir(self.path('a', 'b'))
        os.rmdir(self.path('a'))
        with self.assertRaises(FileNotFoundError):
            os.rmdir(self.path('a'))

    @ddt.data(*kernels.KERNELS)
    def test_errno(self, name: str) -> None:
        self.mount(name)
        self.new_group('a')
        if name.startswith(('F4', 'F5')):
            file, bad, zero = rt_max.FILE, '2 1\n', '0 100000\n'
            if 'rootless' not in name:
                write(self.path(file), '900000 1000000\n')
        else:
            file, bad, zero = scalars.RUNTIME, 'x\n', '0\n'
            if name in ('F3', 'F3m'):
                write(self.path('cpu.rt_period_us'), '1000000\n')
                write(self.path(file), '900000\n')
                write(self.path('a', 'cpu.rt_period_us'), '100000\n')
        self.assert_errno(errno.EINVAL, self.path('a', file), bad)
        self.assert_errno(errno.ENOENT, self.path('b', file), zero)
        write(self.path('a', file), zero.replace('0', '20000', 1))
        self.kernel.spawn(7, '/a')
        self.kernel.set_policy(7, os.SCHED_FIFO, 1)
        # F2m checks this in the file, before the group.
        self.assert_errno(
            errno.EINVAL if 'F2m' in name else errno.EBUSY,
            self.path('a', file), zero)

    @ddt.data(*kernels.KERNELS)
    def test_a_group_that_goes_while_its_file_is_open(self, name: str
                                                      ) -> None:
        self.mount(name)
        self.new_group('a')
        file = (rt_max.FILE if name.startswith(('F4', 'F5'))
                else scalars.RUNTIME)
        handle = os.open(self.path('a', file), os.O_WRONLY)
        try:
            self.kernel.rmdir('/a')
            with self.assertRaises(OSError) as caught:
                os.write(handle, b'0 0\n')
        finally:
            os.close(handle)
        self.assertEqual(errno.ENODEV, caught.exception.errno)


@ddt.ddt
class MeasuredTest(FuseTest):
    """Tests groups of kernels that this machine does not have."""

    @ddt.data('F4', 'F5')
    def test_a_reservation(self, name: str) -> None:
        """If groups own their CPUs, the budget is on the given CPUs."""
        self.mount(name)
        self.enterContext(mock.patch.object(group.fs, 'RealFS',
                                            lambda: self.fs))
        self.enterContext(mock.patch.object(privsep, 'TOPS',
                                            privsep.TOPS))
        with group.up('a', (1, 2), reservation.Reservation(20_000, 100_000)):
            held = self.kernel.granted()['/a']
        self.assertEqual({(20_000, 100_000)}, {*held.values()})
        self.assertEqual({1, 2} if name == 'F5' else {0, 1, 2, 3}, {*held})
        self.assertEqual({}, self.kernel.granted())
        self.assertFalse(os.path.exists(self.path('a')))


@ddt.ddt
class ShortWriteTest(FuseTest):
    """The original patches refuse by a count, not by an errno."""

    @ddt.data('F2', 'F2-v2')
    def test_count(self, name: str) -> None:
        self.mount(name)
        self.new_group('a')
        path = self.path('a', scalars.RUNTIME)
        for text in ('1000001\n', '1\n'):
            self.assertEqual(1, write(path, text))
        self.assertEqual('0', self.fs.read(path))

    def test_privsep(self) -> None:
        self.mount('F2')
        self.new_group('a')
        with self.assertRaises(OSError) as caught:
            privsep.write_cgroup_file(
                self.path('a', scalars.RUNTIME), '1000001')
        self.assertTrue(cgroup.is_short(caught.exception))

    def test_a_buffered_file_resends(self) -> None:
        """The host is lost, because '600000' becomes '00000'."""
        self.mount('F2')
        self.new_group('a')
        write(self.path('a', 'cpu.rt_period_us'), '500000\n')
        with self.assertRaises(OSError) as caught:
            with open(self.path('a', scalars.RUNTIME), 'w') as file:
                file.write('600000\n')
        self.assertEqual(errno.EIO, caught.exception.errno)
        self.assertIn('rest of a short write', self.kernel.guard.reason or '')
