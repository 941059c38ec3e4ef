# SPDX-License-Identifier: Apache-2.0

"""Tests what libvirt does to the groups, and detection, on each kernel."""

import os
import unittest

import ddt

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from tests.emulation import clock
from tests.emulation import kernels
from tests.emulation import tasks


@ddt.ddt
class GuestsTest(unittest.TestCase):
    """Containers and virtual machines."""

    def start(self, name: str) -> None:
        self.clock = clock.Clock()
        self.kernel = kernels.KERNELS[name](4, self.clock)
        self.guests = tasks.Guests(self.kernel)
        self.tasks = tasks.EmulatedTasks(self.kernel)
        self.controller = 'cpu' if self.kernel.version == 1 else ''

    @ddt.data(*kernels.KERNELS)
    def test_container(self, name: str) -> None:
        self.start(name)
        keeper = self.guests.start('a', '1-2')
        group = f'/machine/lxc-{keeper}-a.libvirt-lxc'
        self.assertEqual(group, self.guests.group(keeper))
        for controller in (self.controller, 'cpuset'):
            self.assertEqual(group, self.tasks.group_of(keeper, controller))
        self.assertEqual({1, 2}, self.kernel.confined()[group])
        self.assertEqual(self.guests.running[keeper],
                         self.tasks.threads(group, self.controller))
        self.guests.stop(keeper)
        self.assertNotIn(group, self.kernel.snapshot())
        self.assertNotIn(group, self.kernel.confined())
        with self.assertRaises(LookupError):
            self.tasks.group_of(keeper, self.controller)

    @ddt.data(*kernels.KERNELS)
    def test_virtual_machine(self, name: str) -> None:
        self.start(name)
        process = self.guests.start_qemu('a', ['1', '2-3'])
        group = '/machine/qemu-1-a.libvirt-qemu'
        self.assertEqual(group, self.guests.group(process))
        self.assertEqual([f'{group}/vcpu0', f'{group}/vcpu1'],
                         self.guests.vcpus(process))
        self.assertEqual(f'{group}/emulator',
                         self.tasks.group_of(process, 'cpuset'))
        first, second = self.guests.vcpus(process)
        found = [self.tasks.threads(each, self.controller)
                 for each in (f'{group}/emulator', first, second)]
        self.assertEqual([2, 1, 1], list(map(len, found)))
        self.assertEqual({2, 3}, self.kernel.confined()[second])
        thread = found[2][0]
        mount = self.tasks.mount_of(self.controller)
        tasks.place_vcpu(mount + first, self.controller, thread, 3)
        self.assertEqual([*found[1], thread],
                         self.tasks.threads(first, self.controller))
        self.assertEqual({3}, self.kernel.tasks[thread].affinity)
        with self.assertRaises(ProcessLookupError):
            tasks.place_vcpu(mount + first, self.controller, process, 3)
        self.guests.stop(process)
        self.assertEqual({'/', '/machine'}, set(self.kernel.snapshot()))

    @ddt.data(*kernels.KERNELS)
    def test_detected(self, name: str) -> None:
        self.start(name)
        found = detect.detect(self.kernel)
        assert found is not None
        self.assertEqual(kernels.KERNELS[name].interface, found.name)

    @ddt.data(*kernels.KERNELS)
    def test_a_guest_that_ends(self, name: str) -> None:
        """No kernel dies, and none holds anything after it."""
        self.start(name)
        found = detect.detect(self.kernel)
        assert found is not None
        with clock.waiting(self.clock):
            found.prepare(900_000)
            found.settle('/machine')
            process = self.guests.start_qemu('a', ['0', '1'])
            leaf = self.guests.vcpus(process)[0]
            found.reserve({leaf: base.Budget({0: 20_000}, 100_000)})
            self.assertEqual((20_000, 100_000),
                             self.kernel.granted()[leaf][0])
            for thread in self.tasks.threads(leaf, self.controller):
                self.kernel.set_policy(thread, os.SCHED_RR, 1)
            self.guests.stop(process)
            found.settle('/machine')
        self.assertEqual({}, self.kernel.granted())
