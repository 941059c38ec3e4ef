# SPDX-License-Identifier: Apache-2.0

"""Tests all vCPUs or none, and what is said when refused.

The system calls are replaced by a kernel that keeps a pool, and forgets what
a sleeping thread had when it leaves SCHED_DEADLINE, as Linux does.
"""

import errno
import os

import fixtures
from oslotest import base

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as thread_state
from nova_rt.machine.kernel import base as kernel_base
from nova_rt.machine.kernel import deadline as kernel
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import deadline
from tests.unit.services.virt.libvirt import fakes

PID = 42
CONTAINER = 43
OTHER = sched.Policy(os.SCHED_OTHER)
GUEST = {'/machine/q/emulator': PID, '/machine/q/vcpu1': 101,
         '/machine/q/vcpu0': 100, '/machine/q/vcpu10': 102}


class Threads:
    """The kernel: threads, the pool in units, affinities."""

    def __init__(self, cpus=2):
        self.pool = cpus * kernel.units(90, 100)
        self.policies = dict.fromkeys(GUEST.values(), OTHER)
        self.affinities = {}
        self.log = []
        #: errno of the n-th call of start from now, from 0
        self.refuse = {}
        self.wrong = False

    def get(self, thread):
        if thread not in self.policies:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return self.policies[thread]

    def start(self, thread, runtime_us, period_us):
        old = self.get(thread)
        self.log.append(thread)
        self._check(thread, old, kernel.units(runtime_us, period_us))
        period = period_us * 1000
        self.policies[thread] = sched.Policy(
            6, 0, runtime_us * 1000, period - self.wrong, period)

    def _check(self, thread, old, wanted):
        number = self.refuse.pop(len(self.log) - 1, 0)
        rest = self.pool + kernel.units(old.runtime, old.period) - wanted
        if not number and self.affinities.get(thread, {0, 1}) != {0, 1}:
            number = errno.EPERM
        elif not number and rest < 0:
            number = errno.EBUSY
        if number:
            raise OSError(number, os.strerror(number))
        self.pool = rest

    def set_policy(self, thread, policy, param):
        self.get(thread)
        self.policies[thread] = sched.Policy(policy, param.sched_priority)

    def affinity(self, thread):
        return self.affinities.get(thread, {0, 1})


class Files:
    """CgroupFS and Tasks of a host with one QEMU guest on cgroup v1."""

    def __init__(self):
        self.files = {
            cpulist.ONLINE: '0-1', cpulist.ISOLATED: '',
            kernel.SYSCTL.format('runtime'): '950000',
            kernel.SYSCTL.format('period'): '1000000',
            kernel.PERIOD_SYSCTL.format('min'): '100',
            kernel.PERIOD_SYSCTL.format('max'): '4194304'}
        self.mounted = [('/sys/fs/cgroup/cpu', 'cgroup', 'rw,cpu')]
        self.groups = dict(GUEST)

    def read(self, path):
        if path not in self.files:
            raise OSError(errno.ENOENT, 'no such file')
        return self.files[path]

    def children(self, path):
        return []

    def mounts(self):
        return self.mounted

    def group_of(self, pid, controller):
        if pid == CONTAINER:
            return '/machine/lxc'
        for group, thread in self.groups.items():
            if thread == pid:
                return group
        raise LookupError(f'process {pid} has ended')

    def groups_below(self, group, controller):
        return [path for path in self.groups if path.startswith(group + '/')]

    def threads(self, group, controller):
        return [thread for path, thread in self.groups.items()
                if (path + '/').startswith(group + '/')]

    def vcpu_threads(self, group, controller):
        return self.threads(group, controller)

    def partition(self, controller):
        return '/machine'


class _Case(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        privsep.cgroup_pctxt.set_client_mode(False)
        self.addCleanup(privsep.cgroup_pctxt.set_client_mode, True)
        self.threads = Threads()
        self.files = Files()
        self.slept = []
        self.now = 0
        for target, name, new in (
                (sched, 'get', self.threads.get),
                (sched_setattr, 'start', self.threads.start),
                (kernel, 'read_other_threads', lambda controller: self.others),
                (os, 'sched_setscheduler', self.threads.set_policy),
                (os, 'sched_getaffinity', self.threads.affinity),
                (privsep, '_groups_of', self.groups_of),
                (thread_state, 'is_runnable', lambda thread: False),
                (privsep, 'SCHED_DEBUG', self.useFixture(
                    fixtures.TempDir()).path),
                (deadline, 'time', self)):
            self.useFixture(fixtures.MockPatchObject(target, name, new))
        self.others = []
        self.enforcer = self.made()

    def made(self, containers=False, shared=(0, 1)):
        return deadline.DeadlineEnforcer(
            self.files, self.files, containers, lambda: shared, None)

    def held(self, ours):
        self.assertEqual(set(GUEST.values()), ours)
        return kernel.Held(0, self.others)

    def groups_of(self, thread):
        return [f'1:cpu:{group}' for group, found
                in self.files.groups.items() if found == thread]

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.slept.append(seconds)

    def claim(self, runtime=300, vcpus=3):
        return fakes.claim(runtime, 1000, tuple(range(vcpus)))

    def granted(self):
        return [deadline._ppm(self.threads.policies[thread])
                for thread in (100, 101, 102)]

    def refused(self, *words, pid=PID, claim=None):
        before = dict(self.threads.policies)
        pool = self.threads.pool
        error = self.assertRaises(exception.KernelError, self.enforcer.apply,
                                  pid, claim or self.claim())
        for word in words:
            self.assertIn(word, str(error))
        self.assertEqual(before, self.threads.policies)
        self.assertEqual(pool, self.threads.pool)


class DeadlineTest(_Case):

    def test_apply_in_order(self):
        self.enforcer.apply(PID, self.claim())
        self.assertEqual([100, 101, 102], self.threads.log)
        self.assertEqual([300_000] * 3, self.granted())
        self.assertEqual(OTHER, self.threads.policies[PID])
        self.assertEqual(300_000, self.enforcer.bandwidth(PID))

    def test_held(self):
        """A thread counts on the pCPU that it has alone, else nowhere."""
        self.assertEqual([], [*self.enforcer.shares(PID)])
        self.enforcer.apply(PID, self.claim())
        self.threads.affinities[101] = {1}
        wanted = self.claim().reservation
        self.assertEqual([((), wanted), ((1,), wanted), ((), wanted)],
                         [*self.enforcer.shares(PID)])

    def test_release(self):
        pool = self.threads.pool
        self.enforcer.apply(PID, self.claim())
        self.enforcer.release(PID)
        self.assertEqual({OTHER}, set(self.threads.policies.values()))
        self.assertEqual(pool, self.threads.pool)
        self.assertEqual(0, self.enforcer.bandwidth(PID))

    def test_release_of_a_thread_that_ends(self):
        self.enforcer.apply(PID, self.claim())
        del self.threads.policies[101]
        self.enforcer.release(PID)
        self.assertEqual(OTHER, self.threads.policies[102])

    def test_holds(self):
        self.assertFalse(self.enforcer.holds(PID, self.claim()))
        self.enforcer.apply(PID, self.claim())
        self.assertTrue(self.enforcer.holds(PID, self.claim()))
        self.assertFalse(self.enforcer.holds(PID, self.claim(301)))
        self.threads.policies[102] = OTHER
        self.assertFalse(self.enforcer.holds(PID, self.claim()))

    def test_the_kth_thread_is_refused(self):
        for k in range(3):
            for number, word in ((errno.EINVAL, '100 to 4194304 us'),
                                 (errno.EPERM, 'CAP_SYS_NICE'),
                                 (errno.EIO, 'thread 10')):
                self.threads.log.clear()
                self.threads.refuse = {k: number}
                self.refused(word, 'sched_deadline', f'vcpu{(0, 1, 10)[k]}')

    def test_full(self):
        """Waits for what a guest that ended has not given back yet."""
        self.refused('EBUSY', 'cpu_cap', claim=self.claim(601))
        self.assertAlmostEqual(3, sum(self.slept), delta=0.1)

    def test_full_for_a_moment(self):
        self.threads.refuse = {1: errno.EBUSY, 5: errno.EBUSY}
        self.enforcer.apply(PID, self.claim())
        self.assertEqual([300_000] * 3, self.granted())
        self.assertEqual(2, len(self.slept))

    def test_other_errors_are_not_waited_for(self):
        self.threads.refuse = {1: errno.EINVAL}
        self.refused('EINVAL')
        self.assertEqual([], self.slept)

    def test_undone_to_the_old_reservation(self):
        self.enforcer.apply(PID, self.claim(500))
        self.refused('EBUSY', claim=self.claim(601))
        self.assertEqual([500_000] * 3, self.granted())

    def test_undone_to_real_time(self):
        """An interface of groups had reserved for the guest before."""
        self.threads.policies[100] = sched.Policy(os.SCHED_RR, 10)
        self.threads.policies[101] = sched.Policy(os.SCHED_FIFO, 11)
        self.threads.refuse = {2: errno.EINVAL}
        self.refused('EINVAL')

    def test_reads_back_something_else(self):
        self.threads.wrong = True
        self.refused('reads back', '300 us every 1000 us')

    def test_affinity(self):
        self.threads.affinities[101] = {1}
        self.refused('thread 101 may run on CPU 1 only', 'cpuset')

    def test_thread_elsewhere(self):
        """An id that somebody else has by now."""
        found = iter([100, 101, 7])
        self.files.threads = lambda group, controller: [next(found)]
        self.threads.policies[7] = OTHER
        self.refused('thread 7', 'is not in /machine/q/vcpu10')

    def test_threads_and_claim_differ(self):
        self.refused('3 vCPUs but a claim for 2', claim=self.claim(vcpus=2))
        self.assertRaises(exception.KernelError, self.enforcer.holds, PID,
                          self.claim(vcpus=2))

    def test_thread_has_ended(self):
        del self.threads.policies[101]
        self.assertRaises(exception.KernelError, self.enforcer.apply, PID,
                          self.claim())
        self.assertEqual(
            [0, 0], [deadline._ppm(self.threads.policies[thread])
                     for thread in (100, 102)])

    def test_guest_has_ended(self):
        self.refused('process 7', 'has ended', pid=7)

    def test_containers(self):
        self.refused('vCPU threads', 'container', pid=CONTAINER,
                     claim=self.claim(vcpus=1))
        self.assertEqual(0, self.enforcer.bandwidth(CONTAINER))
        self.enforcer = self.made(containers=True)
        error = self.assertRaises(exception.KernelError,
                                  self.enforcer.capacity)
        self.assertIn('a container needs a kernel with', str(error))

    def test_what_it_is(self):
        self.assertFalse(self.enforcer.pins)
        self.assertFalse(self.enforcer.replicated)
        self.assertTrue(self.enforcer.releases_early)

    def test_settle_and_guard_do_nothing(self):
        self.enforcer.guard()
        self.enforcer.settle()
        self.assertEqual([], self.threads.log)


class CapacityTest(_Case):

    def setUp(self):
        super().setUp()
        for target, name, new in (
                (kernel, '_version', lambda: (6, 18)),
                (deadline.ticks, 'tick_us', lambda: 4000)):
            self.useFixture(fixtures.MockPatchObject(target, name, new))

    def unavailable(self, *words):
        error = self.assertRaises(exception.KernelError,
                                  self.enforcer.capacity)
        for word in words:
            self.assertIn(word, str(error))

    def test_capacity(self):
        self.assertEqual(kernel_base.Capacity(900_001, 4000),
                         self.enforcer.capacity())

    def test_high_resolution(self):
        self.files.files[deadline.ticks.FEATURES[0]] = 'HRTICK_DL X'
        self.assertEqual(0, self.enforcer.capacity().tick_us)

    def test_fair_server(self):
        for cpu in (0, 1):
            path = os.path.join(privsep.SCHED_DEBUG, 'fair_server',
                                f'cpu{cpu}')
            os.makedirs(path)
            for name, value in (('runtime', 150), ('period', 1000)):
                with open(os.path.join(path, name), 'w') as output:
                    output.write(f'{value}\n')
        self.assertAlmostEqual(800_000, self.enforcer.capacity().ppm,
                               delta=1)

    def test_others(self):
        self.others = [kernel.Other(7, 'x', kernel.units(1, 2))]
        self.assertAlmostEqual(400_000, self.enforcer.capacity().ppm,
                               delta=1)
        self.others *= 2
        self.unavailable('other SCHED_DEADLINE threads, or the budget')

    def test_others_that_reclaim(self):
        self.others = [kernel.Other(7, 'x', 1, True)]
        self.unavailable('SCHED_FLAG_RECLAIM (7 x)', 'without the flag')

    def test_warnings(self):
        self.assertEqual([], self.enforcer.warnings())
        self.others = [kernel.Other(7, 'x', 1)]
        self.assertEqual(1, len(self.enforcer.warnings()))

    def test_interrupts(self):
        self.assertFalse(self.enforcer.capacity().before_interrupts)
        self.files.files['/sys/kernel/realtime'] = '1'
        self.assertTrue(self.enforcer.capacity().before_interrupts)

    def test_admission_is_off(self):
        self.files.files[kernel.SYSCTL.format('runtime')] = '-1'
        self.unavailable('kernel.sched_rt_runtime_us is -1', '950000')

    def test_shared_cpus(self):
        self.enforcer = self.made(shared=(0,))
        self.unavailable('guests may run on CPU 0 only', 'root domain 0-1',
                         'cpu_shared_set')
        self.files.files[cpulist.ISOLATED] = '1'
        self.assertGreater(self.enforcer.capacity().ppm, 0)

    def test_no_controller(self):
        self.files.mounted = []
        error = self.assertRaises(exception.KernelError, self.made)
        self.assertIn('not mounted', str(error))


class ServerTest(base.BaseTestCase):
    """The privileged function checks its arguments."""

    def setUp(self):
        super().setUp()
        privsep.cgroup_pctxt.set_client_mode(False)
        self.addCleanup(privsep.cgroup_pctxt.set_client_mode, True)

    def test_other_files(self):
        for server, name in (('../features', 'runtime'),
                             ('fair_server', '../../debug')):
            self.assertRaises(PermissionError, privsep.read_server, server,
                              0, name)
        self.assertRaises(ValueError, privsep.read_server, 'fair_server',
                          '0/../cpu1', 'runtime')
