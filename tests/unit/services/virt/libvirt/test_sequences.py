# SPDX-License-Identifier: Apache-2.0

"""Random lives of guests on each kernel, by the enforcer and reconciler.

A failure prints its seed; NOVA_RT_SEED repeats it.
"""

import contextlib
import dataclasses
import errno
import random
from unittest import mock

import fixtures
from oslotest import base as oslo_base
import testscenarios

from nova_rt.rules import exception
from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset
from tests import seeds
from tests.unit.machine.kernel import base
from tests.unit.machine.kernel import host as rt_host
from tests.unit.services.virt.libvirt import emulated

SEQUENCES = 50
OPERATIONS = 8
#: name: (is a virtual machine, vCPUs)
GUESTS = {'a': (False, 1), 'b': (False, 2), 'c': (True, 1), 'd': (True, 2)}
ERRORS = (errno.EINVAL, errno.EBUSY, errno.EPERM, errno.EIO)


class Sequence:
    """One host, and what happens to it."""

    def __init__(self, kind, emulation, seed):
        self.chosen = random.Random(seed)  # noqa: S311 - not for secrets
        self.host = emulated.Host(kind, emulation)
        if seed % 2:
            # A hypervisor takes the CPUs away, for more than any bound.
            self.host.kernel.stolen_us = 300_000
        else:
            self.host.kernel.shows_timers = False
        self.pids = {}

    def run(self):
        with self.host.time():
            for _ in range(OPERATIONS):
                self._step()
                self.host.kernel.clock.sleep(1)
                self.host.enforcer.settle()
                self.host.check()
            for pid in list(self.host.guests.running):
                self.host.poweroff(pid)
            self.host.kernel.clock.sleep(1)
            self.host.enforcer.settle()
            self.host.check()

    def _step(self):
        name = self.chosen.choice(list(GUESTS))
        pid = self.pids.get(name)
        kind = self.chosen.choices(
            ('reclaim', 'poweroff', 'end', 'damage', 'orphan', 'plain'),
            (45, 15, 15, 15, 5, 5))[0]
        if kind == 'plain':
            self.host.launch_plain('p')
        elif pid not in self.host.guests.running:
            self._launch(name, *GUESTS[name])
        elif kind == 'poweroff':
            self._killable(pid, self.host.poweroff)
        elif kind == 'end':
            self._killable(pid, self.host.end)
        elif kind == 'damage':
            self._damage(pid)
        elif kind == 'reclaim' and pid in self.host.claims:
            self._reclaim(pid, *GUESTS[name])
        elif kind == 'orphan':
            self.host.claims.pop(pid, None)
            self.host.reconcile()

    def _claim(self, vcpus):
        least = self.host.interface.least_runtime_us()
        period = max(least, self.chosen.choice(rt_host.PERIODS))
        runtime = max(
            3, least, period * self.chosen.choice(rt_host.SHARES) // 100)
        return rt_host.claim(runtime, period, self.chosen.sample(
            range(self.host.kernel.cpus), vcpus))

    def _fits(self, claim):
        held = [*self.host.claims.values(), claim]
        if self.host.interface.replicated:
            return sum(x.reservation.bandwidth for x in held) <= base.CAP
        return all(sum(x.reservation.bandwidth for x in held
                       if cpu in x.cpus) <= base.CAP
                   for cpu in range(self.host.kernel.cpus))

    def _launch(self, name, qemu, vcpus):
        host, claim = self.host, self._claim(vcpus)
        fits = self._fits(claim)
        fault = None
        if self.chosen.random() < 0.4:
            fault = host.fault = rt_host.Fault(
                self.chosen.randrange(12),
                self.chosen.choice((0, 0, *ERRORS)),
                self.chosen.random() < 0.5)
        host.started = None
        try:
            self.pids[name] = host.launch(name, claim, qemu)
        except rt_host.Killed:
            self._after_crash(claim if fits else None)
            self.pids[name] = host.started
        except exception.KernelError:
            assert not fits or (fault and fault.hit), 'refused what fits'
        else:
            assert fits, 'took what does not fit'
        host.fault = None

    def _after_crash(self, claim):
        host = self.host
        host.restart()
        if host.started is not None and claim and self.chosen.random() < 0.7:
            host.claims[host.started] = claim
        host.reconcile()

    def _killable(self, pid, action):
        host = self.host
        if self.chosen.random() < 0.7:
            return action(pid)
        try:
            host.fault = rt_host.Fault(self.chosen.randrange(6))
            if host.enforcer.releases_early:
                host.enforcer.release(pid)
            host.guests.stop(pid)
            host.claims.pop(pid, None)
            host.enforcer.settle()
        except rt_host.Killed:
            host.restart()
            host.reconcile()
        host.fault = None

    def _reclaim(self, pid, qemu, vcpus):
        """Another claim, perhaps on other pCPUs for a container."""
        host, claim = self.host, self._claim(vcpus)
        old = host.claims.pop(pid)
        if qemu:
            claim = dataclasses.replace(claim, cpus=old.cpus)
        host.claims[pid] = claim if self._fits(claim) else old
        if self.chosen.random() < 0.5:
            host.fault = rt_host.Fault(self.chosen.randrange(8))
        try:
            host.reconcile()
        except rt_host.Killed:
            host.restart()
            host.reconcile()
        host.fault = None

    def _damage(self, pid):
        """Somebody takes what a guest has."""
        host = self.host
        kinds = [self._release]
        if pid in host.claims:
            kinds.append(self._halve)
        if isinstance(host.kernel, rt_max_cpuset.Kernel):
            kinds += [self._switch_off, self._take_offline, self._free_all]
        self.chosen.choice(kinds)(pid)
        host.reconcile()

    def _release(self, pid):
        self.host.enforcer.release(pid)

    def _halve(self, pid):
        """Somebody writes other numbers, where one file has both."""
        host = self.host
        wanted = host.claims[pid].reservation
        for leaf in host.layout_of(pid).leaves(host.interface):
            path = f'{base.mount(host.kernel)}{leaf}/cpu.rt.max'
            if isinstance(host.kernel, rt_max.Kernel):
                host.kernel.write(
                    path, f'{max(2, wanted.runtime_us // 2)} '
                          f'{wanted.period_us}')

    def _switch_off(self, pid):
        """Somebody switches off controllers of all guests, if possible."""
        kernel = self.host.kernel
        with contextlib.suppress(OSError):
            kernel.write(f'{base.mount(kernel)}/machine/'
                         f'cgroup.subtree_control',
                         self.chosen.choice(('-cpuset', '-cpuset -cpu')))

    def _free_all(self, pid):
        """Somebody takes the numbers of the group of all guests."""
        kernel = self.host.kernel
        # The kernel refuses this while real-time tasks count on the numbers.
        with contextlib.suppress(OSError):
            kernel.write(f'{base.mount(kernel)}/machine/cpu.rt.max', 'max 0')

    def _take_offline(self, pid):
        """Somebody writes the same numbers while a CPU is away."""
        host, cpu = self.host, self.chosen.randrange(emulated.CPUS)
        host.kernel.offline(cpu)
        if self.chosen.random() < 0.5:
            for leaf in host.layout_of(pid).leaves(host.interface):
                path = f'{base.mount(host.kernel)}{leaf}/cpu.rt.max'
                with contextlib.suppress(OSError):
                    host.kernel.write(path, host.kernel.read(path))
        host.reconcile()
        if self.chosen.random() < 0.5:
            # The group of all guests cannot change while a server in it is
            # on a CPU that is away.
            with contextlib.suppress(exception.KernelError):
                host.enforcer.settle()
        host.kernel.online(cpu)


class SequenceTest(testscenarios.WithScenarios, oslo_base.BaseTestCase):

    scenarios = base.SCENARIOS

    def test_random_sequences(self):
        self.useFixture(fixtures.FakeLogger())
        emulation = self.useFixture(emulated.Emulation())
        for seed in seeds.seeds(SEQUENCES):
            sequence = Sequence(self.kind, emulation, seed)
            with rt_host.explained(
                    sequence.host, f'NOVA_RT_SEED={seed} on {self.kind}'):
                sequence.run()


class SwitchedOffTest(oslo_base.BaseTestCase):
    """Somebody changes the group of all guests; one audit corrects it."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.host = emulated.Host('F5', self.useFixture(emulated.Emulation()))

    def assert_one_audit_corrects(self, file, data, count):
        self.host.kernel.write(
            f'{base.mount(self.host.kernel)}/machine/{file}', data)
        self.host.reconcile()
        self.host.check()
        self.host.enforcer.settle()
        if count:
            self.assertIn(f'corrected: {count}', self.log.output)
        self.assertNotIn('Cannot', self.log.output)

    def test_controllers(self):
        with self.host.time():
            for number in range(5):
                self.host.launch(f'g{number}', rt_host.claim(
                    10_000, 100_000, [0]), False)
            self.assert_one_audit_corrects(
                'cgroup.subtree_control', '-cpuset -cpu', 5)

    def test_machines_that_leave_no_room_for_the_numbers_above(self):
        """The groups in between count on all CPUs, also on that of c."""
        with self.host.time():
            for name, runtime, cpu in (('a', 45_000, 0), ('b', 1_000, 1),
                                       ('c', 90_000, 2)):
                self.host.launch(name, rt_host.claim(
                    runtime, 100_000, [cpu]), name != 'c')
            self.assert_one_audit_corrects('cpu.rt.max', 'max 0', 2)

    def test_a_group_that_cannot_be_read(self):
        """No machine loses its budget because of a failed reading."""
        enforcer, read = self.host.enforcer, self.host.interface.group_state

        def fail(group):
            if group == enforcer.partition:
                raise exception.KernelError(
                    interface='F5', group=group, reason='of a test')
            return read(group)

        with self.host.time():
            pid = self.host.launch('g', rt_host.claim(
                10_000, 100_000, [0]), True)
            with mock.patch.object(self.host.interface, 'group_state', fail):
                enforcer.give_way([pid])
            self.host.check()

    def test_the_smallest_reservation_without_numbers_above(self):
        """The groups in between get the least runtime of the kernel."""
        with self.host.time():
            self.host.launch('g', rt_host.claim(3, 4_194_304, [0]), True)
            self.assert_one_audit_corrects('cpu.rt.max', 'max 0', 0)
