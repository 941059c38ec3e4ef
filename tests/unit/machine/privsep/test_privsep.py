# SPDX-License-Identifier: Apache-2.0

"""Tests that privileged functions check their arguments.

Run without privileges, on a directory that stands for cgroupfs.
"""

import errno
import os
import pathlib

import fixtures
from oslotest import base

from nova_rt.machine.host import cgroup
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from tests.emulation.eighth import installed


TEXTS = {
    'cpu.rt_runtime_us': ('500000', '-1', '20000 0-2,5 10000 3'),
    'cpu.rt_period_us': ('1000000', '100000 1'),
    'cpu.rt_multi_runtime_us': ('0 700 1-2 500',),
    'cpu.rt.max': ('max 0', '500 1000', '0 1000000'),
    'cpuset.cpus': ('0-3,8', '5'),
    'cpuset.mems': ('0', '0-1'),
    'cgroup.subtree_control': ('+cpu', '+cpuset'),
}


class _Case(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        privsep.cgroup_pctxt.set_client_mode(False)
        self.addCleanup(privsep.cgroup_pctxt.set_client_mode, True)


class WriteTest(_Case):

    def setUp(self):
        super().setUp()
        self.top = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path).resolve()
        self.root = self.top / 'cgroup'
        self.group = self.root / 'machine'
        self.group.mkdir(parents=True)
        self.useFixture(fixtures.MockPatchObject(
            privsep, 'CGROUP_ROOT', str(self.root)))
        self.file = self.group / 'cpu.rt_runtime_us'
        self.file.write_text('old\n')

    def refused(self, path, text='1'):
        error = self.assertRaises(
            OSError, privsep.write_cgroup_file, str(path), text)
        self.assertEqual(errno.EPERM, error.errno)

    def test_value_and_newline(self):
        for name, texts in TEXTS.items():
            path = self.group / name
            path.touch()
            for text in texts:
                path.write_text('')
                privsep.write_cgroup_file(str(path), text)
                self.assertEqual(text + '\n', path.read_text())
        self.assertEqual({*privsep.FILES, *privsep._installed_forms()},
                         set(TEXTS))

    def test_files_of_an_installed_interface(self):
        path = self.group / 'cpu.guarantee'
        path.touch()
        self.refused(path, '5 10')
        self.useFixture(installed.Installed())
        privsep.write_cgroup_file(str(path), '5 10')
        self.assertEqual('5 10\n', path.read_text())
        self.refused(path, '5')
        self.refused(self.top / 'cpu.guarantee', '5 10')

    def test_an_installed_interface_writes_no_other_controller(self):
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.eighth.interface.Guarantee.writes',
            {'memory.max': '[0-9]+', '../x': '.*', 'cpu.x': '[0-9]'}))
        self.useFixture(installed.Installed())
        self.assertEqual({'cpu.x', 'cpu.rt_multi_runtime_us'},
                         set(privsep._installed_forms()))

    def test_values_of_other_files(self):
        for name, texts in (('cpu.rt.max', ('500', 'max', '-1 5', '5 max',
                                            '5 5 5', 'max 0\n', '0x5 5')),
                            ('cpuset.cpus', ('0 1', 'all', '')),
                            ('cgroup.subtree_control',
                             ('-cpu', '+memory', '+cpu +memory',
                              '+cpuset.cpus', ''))):
            path = self.group / name
            path.write_text('old')
            for text in texts:
                self.refused(path, text)
            self.assertEqual('old', path.read_text())

    def test_other_file_names(self):
        for name in ('tasks', 'cgroup.procs', 'cpu.shares', 'release_agent'):
            path = self.group / name
            path.write_text('old')
            self.refused(path)
            self.assertEqual('old', path.read_text())

    def test_other_places(self):
        for place in (self.top, self.top / 'cgroup-2'):
            place.mkdir(exist_ok=True)
            path = place / 'cpu.rt_runtime_us'
            path.write_text('old')
            self.refused(path)
            self.refused(self.root / '..' / path.relative_to(self.top))
            link = self.group / 'cpu.rt_period_us'
            link.symlink_to(path)
            self.refused(link)
            link.unlink()
            self.assertEqual('old', path.read_text())

    def test_link_within_cgroupfs(self):
        # /sys/fs/cgroup/cpu is one to cpu,cpuacct.
        (self.root / 'cpu').symlink_to(self.group)
        privsep.write_cgroup_file(
            str(self.root / 'cpu' / 'cpu.rt_runtime_us'), '500')
        self.assertEqual('500\n', self.file.read_text())

    def test_other_groups_of_the_host(self):
        for name in ('system.slice', 'system.slice/machine', 'machine2',
                     'nova-rt-probe/below'):
            group = self.root / name
            group.mkdir(parents=True)
            for file in privsep.FILES:
                (group / file).write_text('old')
                self.refused(group / file, TEXTS[file][0])

    def test_the_root_of_a_hierarchy(self):
        for name in privsep.FILES:
            path = self.root / name
            path.write_text('old')
            if name in privsep.ROOT_FILES:
                privsep.write_cgroup_file(str(path), TEXTS[name][0])
            else:
                self.refused(path, TEXTS[name][0])

    def test_hierarchies_of_version_1(self):
        path = self.root / 'cpu,cpuacct' / 'machine' / 'a' / self.file.name
        path.parent.mkdir(parents=True)
        path.write_text('old')
        self.refused(path)
        self.useFixture(fixtures.MockPatchObject(
            os.path, 'ismount',
            lambda path: path == str(self.root / 'cpu,cpuacct')))
        privsep.write_cgroup_file(str(path), '500')
        self.assertEqual('500\n', path.read_text())

    def test_values(self):
        for text in ('', '1\n', '1\n2', 'x', '0x1', '\u0661', '1' * 65537):
            self.refused(self.file, text)
        self.assertEqual('old\n', self.file.read_text())

    def test_nothing_is_created(self):
        self.file.unlink()
        self.assertRaises(FileNotFoundError, privsep.write_cgroup_file,
                          str(self.file), '1')
        self.assertFalse(self.file.exists())

    def test_short_write_is_a_refusal_and_not_resent(self):
        sent = []

        def short(handle, data):
            sent.append(data)
            return 1
        self.useFixture(fixtures.MockPatchObject(os, 'write', short))
        error = self.assertRaises(
            OSError, privsep.write_cgroup_file, str(self.file), '500')
        self.assertEqual((errno.EINVAL, cgroup.SHORT_WRITE),
                         (error.errno, error.strerror))
        self.assertTrue(cgroup.is_short(error))
        self.assertEqual([b'500\n'], sent)

    def test_the_write_is_one(self):
        """The write includes the newline, so no value has the length 1."""
        sent = []
        write = os.write

        def count(handle, data):
            sent.append(data)
            return write(handle, data)
        self.useFixture(fixtures.MockPatchObject(os, 'write', count))
        privsep.write_cgroup_file(str(self.file), '5')
        self.assertEqual([b'5\n'], sent)

    def test_groups(self):
        for name in ('machine.slice', 'nova-rt-probe'):
            privsep.make_group(str(self.root / name))
            self.assertTrue((self.root / name).is_dir())
        privsep.remove_group(str(self.root / 'nova-rt-probe'))
        self.assertFalse((self.root / 'nova-rt-probe').exists())

    def test_other_groups(self):
        for call, path in (
                (privsep.make_group, self.root / 'other'),
                (privsep.make_group, self.top / 'machine'),
                (privsep.make_group, self.group / 'machine.slice'),
                (privsep.remove_group, self.group / 'nova-rt-probe'),
                (privsep.remove_group, self.group),
                (privsep.remove_group, self.top / 'nova-rt-probe')):
            error = self.assertRaises(OSError, call, str(path))
            self.assertEqual(errno.EPERM, error.errno)
        self.assertEqual(['machine'], os.listdir(self.root))

    def test_file_is_closed(self):
        before = len(os.listdir('/proc/self/fd'))
        privsep.write_cgroup_file(str(self.file), '1')
        self.assertEqual(before, len(os.listdir('/proc/self/fd')))


class SetPolicyTest(_Case):
    """The tests on this process, whose group stands for a guest's."""

    def setUp(self):
        super().setUp()
        self.calls = []
        self.useFixture(fixtures.MockPatchObject(
            os, 'sched_setscheduler', lambda thread, policy, param:
            self.calls.append((thread, policy, param.sched_priority))))
        self.group, self.controller = '/machine/guest', 'cpuacct'
        self.me = os.getpid()
        self.useFixture(fixtures.MockPatchObject(
            privsep, '_groups_of', lambda thread: [
                f'1:name=systemd:/elsewhere{thread}',
                f'4:cpu,cpuacct:{self.group}']))

    def set(self, policy='rr', group=None, controller=None):
        privsep.set_policy(
            self.group if group is None else group,
            self.controller if controller is None else controller, self.me,
            policy, 10)

    def test_policies(self):
        for policy, number, priority in (
                ('rr', os.SCHED_RR, 10), ('fifo', os.SCHED_FIFO, 10),
                ('none', os.SCHED_OTHER, 0)):
            self.set(policy)
            self.assertEqual((self.me, number, priority), self.calls.pop())

    def test_thread_below_the_group(self):
        self.set(group='/machine')
        self.assertEqual(1, len(self.calls))

    def test_threads_of_the_host(self):
        for group in ('/', '', '/system.slice', '/machine2', '//machine'):
            error = self.assertRaises(PermissionError, self.set, group=group)
            self.assertIn('does not belong to a server', str(error))
            self.assertRaises(PermissionError, privsep.set_deadline, group,
                              self.controller, self.me, 1000, 10_000)
        self.assertEqual([], self.calls)

    def test_thread_elsewhere(self):
        for group in ('/machine/no/such', self.group + 'x',
                      self.group[:-1] + '?', self.group + '/below'):
            error = self.assertRaises(ProcessLookupError, self.set,
                                      group=group)
            self.assertEqual(errno.ESRCH, error.errno)
        self.assertEqual([], self.calls)

    def test_group_whose_name_begins_alike(self):
        self.assertFalse(privsep._below('/machine2/a', '/machine'))
        self.assertTrue(privsep._below('/machine/a', '/machine'))

    def test_other_controller(self):
        self.assertRaises(ProcessLookupError, self.set,
                          controller='no-such')

    def test_unknown_policy(self):
        self.assertRaises(KeyError, self.set, policy='deadline')
        self.assertEqual([], self.calls)


class PlaceTest(_Case):
    """The tests on this process, whose group stands for a vCPU's."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path).resolve()
        self.useFixture(fixtures.MockPatchObject(
            privsep, 'CGROUP_ROOT', str(self.root)))
        self.guest = self.root / 'machine' / 'guest'
        self.vcpu = self.guest / 'vcpu0'
        self.vcpu.mkdir(parents=True)
        self.placed = []
        self.useFixture(fixtures.MockPatchObject(
            os, 'sched_setaffinity',
            lambda thread, cpus: self.placed.append((thread, cpus))))
        self.is_in('/machine/guest/vcpu1')

    def is_in(self, group):
        self.useFixture(fixtures.MockPatchObject(
            privsep, '_groups_of', lambda thread: [
                f'4:cpu,cpuacct:{group}', f'0::{group}']))

    def test_placed(self):
        for controller, name in (('cpu', 'tasks'), ('', 'cgroup.threads')):
            privsep.place_vcpu(str(self.vcpu), controller, 42, 3)
            self.assertEqual('42', (self.vcpu / name).read_text())
            self.assertEqual((42, (3,)), self.placed.pop())

    def refused(self, path):
        error = self.assertRaises(OSError, privsep.place_vcpu, str(path),
                                  'cpu', 42, 3)
        self.assertIn(error.errno, (errno.ESRCH, errno.EPERM))
        self.assertEqual([], self.placed)

    def test_not_into_other_groups(self):
        for path in (self.guest, self.guest / 'emulator',
                     self.root / 'machine' / 'other' / 'vcpu0',
                     self.root / 'vcpu0', self.root.parent / 'vcpu0'):
            self.refused(path)

    def test_not_from_other_groups(self):
        for group in ('/', '/machine/guest', '/machine/guest/emulator',
                      '/machine/other/vcpu1', '/guest/x/vcpu1'):
            self.is_in(group)
            self.refused(self.vcpu)


class FreeTest(_Case):
    """The tests on this process."""

    def setUp(self):
        super().setUp()
        self.thread = os.getpid()
        self.affinity = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, self.affinity)
        os.sched_setaffinity(0, {min(self.affinity)})

    def test_thread_of_a_server(self):
        self.useFixture(fixtures.MockPatchObject(
            privsep, '_groups_of', lambda thread: ['1:cpuset:/machine/v/0']))
        privsep.free_vcpu('/machine/v/0', 'cpuset', self.thread)
        self.assertEqual(self.affinity, os.sched_getaffinity(0))

    def test_threads_of_the_host(self):
        for group in ('/', '/system.slice', '/machine/v'):
            self.assertRaises(OSError, privsep.free_vcpu, group, 'cpuset',
                              self.thread)
        self.assertEqual({min(self.affinity)}, os.sched_getaffinity(0))


class ChangeTest(_Case):
    """The tests on a directory that stands for cgroupfs.

    :ivar steps: the CPUs of the cpuset at each change of the thread
    """

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path).resolve()
        self.vcpu = self.root / 'machine' / 'guest' / 'vcpu0'
        self.vcpu.mkdir(parents=True)
        self.file = self.vcpu / 'cpuset.cpus'
        self.file.write_text('1\n')
        self.steps = []
        self.error = None
        for target, name, new in (
                (privsep, 'CGROUP_ROOT', str(self.root)),
                (privsep, '_groups_of', self.groups_of),
                (sched_setattr, 'start', self.start)):
            self.useFixture(fixtures.MockPatchObject(target, name, new))

    @staticmethod
    def groups_of(thread):
        return [f'{number}:{controllers}:/machine/guest/vcpu{thread}'
                for number, controllers in ((3, 'cpu'), (4, 'cpuset'))]

    def start(self, *arguments):
        self.steps.append((self.file.read_text(), arguments))
        if self.error is not None:
            raise self.error

    def change(self, file=None, thread=0, group='/machine/guest/vcpu0',
               everywhere='0-3', cpus='2'):
        privsep.change_deadline(group, 'cpu', thread, 300, 1000,
                                str(file or self.file), everywhere, cpus)

    def test_the_cpuset_is_wide_only_meanwhile(self):
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        self.change()
        self.assertEqual([('0-3', (0, 300, 1000))], self.steps)
        self.assertEqual('2', self.file.read_text())
        self.assertEqual(before,
                         (os.sched_getscheduler(0), os.sched_getparam(0)))

    def test_a_refusal_leaves_the_cpuset(self):
        self.error = OSError(errno.EBUSY, 'full')
        self.assertRaises(OSError, self.change)
        self.assertEqual('1', self.file.read_text())

    def test_without_a_real_time_budget(self):
        def refuse(thread, policy, param):
            if policy == os.SCHED_FIFO:
                raise PermissionError(errno.EPERM, 'no budget')
        self.useFixture(fixtures.MockPatchObject(
            os, 'sched_setscheduler', refuse))
        self.change()
        self.assertEqual('2', self.file.read_text())

    def test_what_is_no_cpuset_of_this_vcpu(self):
        other = self.vcpu.with_name('vcpu1') / 'cpuset.cpus'
        emulator = self.vcpu.with_name('emulator') / 'cpuset.cpus'
        for path in (other, emulator):
            path.parent.mkdir()
            path.write_text('1\n')
        for arguments in (
                {'file': other}, {'file': emulator}, {'thread': 1},
                {'group': '/machine/guest/vcpu1'}, {'group': '/'},
                {'everywhere': 'all'}, {'cpus': '2\n3'}, {'cpus': ''},
                {'file': self.vcpu / 'cpuset.mems'},
                {'file': self.root.parent / 'cpuset.cpus'}):
            error = self.assertRaises(OSError, self.change, **arguments)
            self.assertIn(error.errno, (errno.EPERM, errno.ESRCH))
        self.assertEqual([], self.steps)
        self.assertEqual('1\n', self.file.read_text())


class TryPinningTest(_Case):

    def test_other_groups(self):
        for path in ('/sys/fs/cgroup/machine', '/sys/fs/cgroup',
                     '/tmp/nova-rt-probe',
                     '/sys/fs/cgroup/machine/nova-rt-probe'):
            self.assertRaises(PermissionError, privsep.try_pinning, path, 0)


class PidTest(_Case):

    def setUp(self):
        super().setUp()
        self.pids = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(
            privsep, 'QEMU_PIDS', str(self.pids)))

    def test_read(self):
        (self.pids / 'instance-1.pid').write_text('4711\n')
        self.assertEqual(4711, privsep.read_pid('instance-1'))
        self.assertRaises(FileNotFoundError, privsep.read_pid, 'instance-2')

    def test_not_elsewhere(self):
        for name in ('../x', '.x', 'a/b', '/etc/x'):
            self.assertRaises(PermissionError, privsep.read_pid, name)


class GoneThreadTest(_Case):

    def test_esrch(self):
        # Above the kernel's largest pid.
        self.assertRaises(ProcessLookupError, privsep.set_policy,
                          '/machine', '', 2 ** 22 + 5, 'none', 0)
