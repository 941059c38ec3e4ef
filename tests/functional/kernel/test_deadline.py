# SPDX-License-Identifier: Apache-2.0

"""Tests nova_rt.services.virt.libvirt.deadline on threads of a real process.

The process stands for a QEMU with two vCPUs; its scratch groups are named as
libvirt names the groups of a domain.  Its threads sleep, as in a paused guest.
The tests take most of the bandwidth of this machine for some milliseconds.
"""

import os
import pathlib
import subprocess
import sys
import threading
import unittest
from unittest import mock

from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.machine.host import sched
import nova_rt.machine.kernel.fs
from nova_rt.machine.kernel import pins
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks
from nova_rt.machine import sched_setattr
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import deadline
from tests.functional.kernel import base

GUEST = '''
import sys, threading
threads = [threading.Thread(target=threading.Event().wait, daemon=True)
           for _ in range(2)]
for thread in threads:
    thread.start()
print(*(thread.native_id for thread in threads), flush=True)
sys.stdin.read()
'''
PERIOD_US = 100_000


def why_not() -> str:
    """Returns why this machine cannot run these tests; '' if it can."""
    if os.geteuid() != 0:
        return 'needs root'
    found = survey.hierarchy_of(nova_rt.machine.kernel.fs.RealFS())
    if found is None or not found.controller:
        return 'needs the cpu controller of cgroup v1'
    return ''


class Holder:
    """Threads of this process that sleep in SCHED_DEADLINE."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def hold(self, ppm: int) -> None:
        """One more thread; what it cannot have it does not hold."""
        thread = threading.Thread(target=self._end.wait)
        thread.start()
        self._threads.append(thread)
        assert thread.native_id is not None
        sched_setattr.start(thread.native_id, ppm, 1_000_000)

    def end(self) -> None:
        for thread in self._threads:
            assert thread.native_id is not None
            sched_setattr.stop(thread.native_id)
        self._end.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class DeadlineTest(unittest.TestCase):
    """A guest in ``nova-rt-test-PID-N/{emulator,vcpu0,vcpu1}``.

    :cvar CONTROLLERS: with these groups
    """

    CONTROLLERS: tuple[str, ...] = ('cpu',)
    PINNED = False

    def setUp(self) -> None:
        reason = why_not()
        if reason:
            self.skipTest(reason)
        self.name = base.scratch(self)
        fs = nova_rt.machine.kernel.fs.RealFS()
        self.tasks = tasks.Tasks(fs)
        self.enforcer = deadline.DeadlineEnforcer(
            fs, self.tasks, False, lambda: os.sched_getaffinity(0),
            pins.Pins(self.tasks, frozenset) if self.PINNED else None)
        self.vcpus = self._start_guest()
        self.holder = Holder()
        self.addCleanup(self.holder.end)

    def _scratch(self, controller: str) -> pathlib.Path:
        top = pathlib.Path(self.tasks.mount_of(controller)) / self.name
        top.mkdir()
        self.addCleanup(base.eventually, top.rmdir)
        return top

    def _start_guest(self) -> list[int]:
        tops = [self._scratch(each) for each in self.CONTROLLERS]
        child = subprocess.Popen(
            [sys.executable, '-c', GUEST], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        vcpus = [int(word) for word in child.stdout.readline().split()]
        for name, thread in zip(('emulator', 'vcpu0', 'vcpu1'),
                                (child.pid, *vcpus), strict=True):
            for top in tops:
                (top / name).mkdir()
                self.addCleanup(base.eventually, (top / name).rmdir)
                _give_cpus(top)
                _give_cpus(top / name)
                (top / name / 'tasks').write_text(str(thread))
        self.addCleanup(self._end_guest, child, vcpus)
        self.pid = child.pid
        return vcpus

    def _end_guest(self, child: subprocess.Popen[str], vcpus: list[int]
                   ) -> None:
        for thread in vcpus:
            sched_setattr.stop(thread)
        child.communicate()

    def claim(self, runtime: int, vcpus: int = 2) -> claims.RTClaim:
        return claims.RTClaim(
            uuids.server, 0, reservation.Reservation(runtime, PERIOD_US),
            tuple(range(vcpus)))

    def policies(self) -> list[sched.Policy]:
        return [sched.get(thread) for thread in self.vcpus]

    def assert_ordinary(self) -> None:
        self.assertEqual([sched.Policy(os.SCHED_OTHER)] * 2, self.policies())

    def leave(self, ppm: int) -> None:
        """Takes all of the pool but *ppm* of one CPU."""
        rest = self.pool() - ppm
        while rest > 0:
            self.holder.hold(min(rest, 900_000))
            rest -= 900_000

    def pool(self) -> int:
        """Returns the ppm of all CPUs together that capacity() promises."""
        return (self.enforcer.capacity().ppm
                * len(self.enforcer._admission.cpus()))

    def test_apply_and_release(self) -> None:
        claim = self.claim(20_000)
        self.assertFalse(self.enforcer.holds(self.pid, claim))
        self.assertEqual(0, self.enforcer.bandwidth(self.pid))
        self.enforcer.apply(self.pid, claim)
        self.assertEqual(
            [sched.Policy(6, 0, 20_000_000, 100_000_000, 100_000_000)] * 2,
            self.policies())
        self.assertTrue(self.enforcer.holds(self.pid, claim))
        self.assertFalse(self.enforcer.holds(self.pid, self.claim(20_001)))
        self.assertEqual(200_000, self.enforcer.bandwidth(self.pid))
        self.assertEqual(os.SCHED_OTHER, os.sched_getscheduler(self.pid))
        self.enforcer.release(self.pid)
        self.assert_ordinary()
        self.assertFalse(self.enforcer.holds(self.pid, claim))

    def test_what_it_forks_is_ordinary(self) -> None:
        self.enforcer.apply(self.pid, self.claim(20_000))
        for thread in self.vcpus:
            self.assertEqual(
                sched.SCHED_DEADLINE | os.SCHED_RESET_ON_FORK,
                os.sched_getscheduler(thread))

    def test_resize(self) -> None:
        for runtime in (20_000, 30_000, 10_000):
            self.enforcer.apply(self.pid, self.claim(runtime))
            self.assertTrue(self.enforcer.holds(self.pid,
                                                self.claim(runtime)))

    def test_capacity_is_what_the_kernel_admits(self) -> None:
        """All of the promised bandwidth fits, and not 1 % more."""
        before = self.pool()
        self.leave(0)
        with self.assertRaises(OSError):
            self.holder.hold(10_000)
        with self.assertRaisesRegex(exception.KernelError,
                                    'SCHED_DEADLINE threads, or .*hold all'):
            self.enforcer.capacity()
        self.holder.end()
        self.assertEqual(before, self.pool())

    def test_no_room_for_the_second_vcpu(self) -> None:
        """The change is undone, and its bandwidth has returned."""
        self.leave(500_000)
        with (mock.patch.object(deadline, '_RETURN_SECONDS', 0.1),
              self.assertRaisesRegex(exception.KernelError, 'EBUSY')):
            self.enforcer.apply(self.pid, self.claim(30_000))
        self.assert_ordinary()
        self.enforcer.apply(self.pid, self.claim(24_000))

    def test_no_room_to_grow(self) -> None:
        self.leave(500_000)
        self.enforcer.apply(self.pid, self.claim(20_000))
        with (mock.patch.object(deadline, '_RETURN_SECONDS', 0.1),
              self.assertRaisesRegex(exception.KernelError, 'EBUSY')):
            self.enforcer.apply(self.pid, self.claim(28_000))
        self.assertTrue(self.enforcer.holds(self.pid, self.claim(20_000)))

    def test_room_that_comes_back_in_time(self) -> None:
        self.leave(100_000)
        timer = threading.Timer(0.1, self.holder.end)
        timer.start()
        self.addCleanup(timer.join)
        self.enforcer.apply(self.pid, self.claim(30_000))
        self.assertTrue(self.enforcer.holds(self.pid, self.claim(30_000)))

    def test_release_gives_the_bandwidth_back(self) -> None:
        """The bandwidth of sleeping threads returns, too, again and again."""
        with mock.patch.object(deadline, '_RETURN_SECONDS', 0):
            for _ in range(10):
                self.enforcer.apply(self.pid, self.claim(40_000))
                self.enforcer.release(self.pid)
        # The guest has all of it: after as much again, there is still as much
        # room.
        self.enforcer.apply(self.pid, self.claim(40_000))
        self.assertTrue(self.enforcer.holds(self.pid, self.claim(40_000)))

    def test_values_out_of_range(self) -> None:
        self._refused_values(5_000_000, 5_000_000)
        self._refused_values(10, 50)
        self._refused_values(1, 1_000)

    def _refused_values(self, runtime: int, period: int) -> None:
        claim = claims.RTClaim(
            uuids.server, 0, reservation.Reservation(runtime, period), (0, 1))
        with self.assertRaisesRegex(exception.KernelError,
                                    'EINVAL.*period 100 to 4194304 us'):
            self.enforcer.apply(self.pid, claim)
        self.assert_ordinary()

    def test_restricted_affinity(self) -> None:
        cpu = min(os.sched_getaffinity(0))
        if len(self.enforcer._admission.cpus()) < 2:
            self.skipTest('needs two CPUs')
        os.sched_setaffinity(self.vcpus[1], {cpu})
        with self.assertRaisesRegex(
                exception.KernelError,
                f'{self.vcpus[1]} may run on CPU {cpu} only.*EPERM'):
            self.enforcer.apply(self.pid, self.claim(20_000))
        self.assert_ordinary()

    def test_restricted_cpuset(self) -> None:
        if len(self.enforcer._admission.cpus()) < 2:
            self.skipTest('needs two CPUs')
        top = self._scratch('cpuset')
        for name, value in (
                ('mems', (top.parent / 'cpuset.mems').read_text()),
                ('cpus', str(min(os.sched_getaffinity(0))))):
            (top / f'cpuset.{name}').write_text(value)
        (top / 'tasks').write_text(str(self.vcpus[0]))
        self.addCleanup((top.parent / 'tasks').write_text,
                        str(self.vcpus[0]))
        with self.assertRaisesRegex(exception.KernelError, 'cpuset'):
            self.enforcer.apply(self.pid, self.claim(20_000))
        self.assert_ordinary()

    def test_it_cannot_be_pinned_any_more(self) -> None:
        self.enforcer.apply(self.pid, self.claim(20_000))
        cpus = self.enforcer._admission.cpus()
        if len(cpus) < 2:
            self.skipTest('needs two CPUs')
        with self.assertRaises(OSError):
            os.sched_setaffinity(self.vcpus[0], cpus[:1])


class PinnedTest(DeadlineTest):
    """The cpuset of its group keeps each thread on its pCPU."""

    CONTROLLERS = ('cpu', 'cpuset')
    PINNED = True

    def setUp(self) -> None:
        super().setUp()
        if len(self.enforcer._admission.cpus()) < 2:
            self.skipTest('needs two CPUs')

    def test_probe(self) -> None:
        self.assertTrue(deadline.can_pin(nova_rt.machine.kernel.fs.RealFS(),
                                         self.tasks))
        mount = pathlib.Path(self.tasks.mount_of('cpuset'))
        self.assertFalse((mount / survey.SCRATCH).exists())

    def test_restricted_affinity(self) -> None:
        """The thread is moved even if libvirt had pinned it."""
        os.sched_setaffinity(self.vcpus[0], {1})
        self.enforcer.apply(self.pid, self.claim(20_000))
        self.assertEqual([{0}, {1}],
                         [os.sched_getaffinity(x) for x in self.vcpus])
        self.enforcer.apply(self.pid, self.claim(30_000))
        self.assertTrue(self.enforcer.holds(self.pid, self.claim(30_000)))

    def test_restricted_cpuset(self) -> None:
        """A cpuset that others use, too, stays as it is."""
        for thread in self.vcpus:
            (self.cpusets / 'tasks').write_text(str(thread))
        with self.assertRaisesRegex(exception.KernelError,
                                    'cgroup_controllers'):
            self.enforcer.apply(self.pid, self.claim(20_000))
        self.assert_ordinary()

    @property
    def cpusets(self) -> pathlib.Path:
        return pathlib.Path(self.tasks.mount_of('cpuset'), self.name)

    def test_refusal_leaves_cpusets(self) -> None:
        with self.assertRaises(exception.KernelError):
            self.enforcer.apply(self.pid, self.claim(5_000_000))
        self.assertEqual([{0, 1}] * 2,
                         [os.sched_getaffinity(x) for x in self.vcpus])


def _give_cpus(group: pathlib.Path) -> None:
    """Fills an empty cpuset, as libvirt does with a new one."""
    for name in ('cpuset.mems', 'cpuset.cpus'):
        if (group / name).exists() and not (group / name).read_text().strip():
            (group / name).write_text((group.parent / name).read_text())
