# SPDX-License-Identifier: Apache-2.0

"""Groups, cpusets and tasks of cgroup v1 and v2."""

import posixpath

from tests.emulation import hcbs
from tests.emulation import paths
from tests.unit.emulation import base


class V1Test(base.EmulationTest):
    """Two hierarchies."""

    def test_mounts(self) -> None:
        self.assertEqual(
            [('cpu', 'cgroup'), ('cpuset', 'cgroup')],
            [(options.split(',')[-1], kind) for _, kind, options
             in self.kernel.mounts()[1:]])

    def test_groups(self) -> None:
        top = paths.CPU_MOUNT
        self.assertEqual([f'{top}/a', f'{top}/d'], self.kernel.children(top))
        self.assertEqual([], self.kernel.children(f'{top}/gone'))
        self.kernel.make(f'{top}/new')
        self.kernel.make(f'{top}/new')
        self.kernel.remove(f'{top}/new')
        for action, wanted in (
                (lambda: self.kernel.create(f'{top}/a'), 'EEXIST'),
                (lambda: self.kernel.create(f'{top}/x/y'), 'ENOENT'),
                (lambda: self.kernel.remove(f'{top}/a'), 'EBUSY'),
                (lambda: self.kernel.remove(f'{top}/x'), 'ENOENT'),
                (lambda: self.kernel.create('/elsewhere'), 'ENOENT')):
            self.assertEqual(wanted, self.result(action))

    def test_files(self) -> None:
        self.assertEqual('ENOENT', self.write('/a', 'cpu.shares', '1'))
        self.assertEqual('0-3', self.kernel.read(paths.POSSIBLE))
        self.assertEqual('950000', self.kernel.read(paths.SYSCTL_RUNTIME))
        self.kernel.write(paths.SYSCTL_RUNTIME, '1000000')
        self.assertEqual((1_000_000, 1_000_000), self.kernel.sysctl)

    def test_new_cpusets_are_empty(self) -> None:
        self.kernel.mkdir_cpuset('/x')
        self.kernel.spawn(7)
        self.assertEqual('ENOSPC', self.result(
            lambda: self.kernel.move(7, 'cpuset', '/x')))
        self.assertEqual('ERANGE', self.write('/x', paths.CPUS, '4'))
        self.assert_ok(self.write('/x', paths.CPUS, '1-2'), self.result(
            lambda: self.kernel.move(7, 'cpuset', '/x')))
        self.assertEqual('ENOSPC', self.write('/x', paths.CPUS, ''))
        self.assertEqual({1, 2}, self.kernel.confined()['/x'])

    def test_locked_twice(self) -> None:
        with self.kernel.locked('x'), self.assertRaises(RuntimeError):
            with self.kernel.locked('x'):
                pass

    def test_what_is_written(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000))
        self.assertEqual('EINVAL', self.runtime('/a', 'x'))
        path = self.path('/a', 'cpu.rt_runtime_us')
        self.assertEqual([(path, '1000')], self.kernel.written)

        def refuse(path: str, text: str) -> None:
            raise PermissionError(13, 'refused', path)

        self.kernel.intercept = refuse
        self.assertEqual('EACCES', self.runtime('/a', 1_000))


class V2Test(base.EmulationTest):
    """One hierarchy, with threaded groups."""

    name = 'F2-v2'
    GROUPS = ()

    def mkdir(self, group: str, kind: str = '') -> None:
        self.kernel.mkdir(group)
        if kind:
            self.assert_ok(self.write(group, paths.TYPE, kind))

    def test_controllers(self) -> None:
        self.mkdir('/a')
        self.mkdir('/a/b')
        self.assertEqual('cpuset cpu', self.read('/', paths.CONTROLLERS))
        self.assertEqual('ENOENT', self.subtree('/a', '+cpu'))
        self.assertEqual('ENOENT', self.runtime('/a', 1))
        self.assertEqual('EINVAL', self.subtree('/', '+nonsense'))
        self.assert_ok(self.subtree('/', '+cpu'))
        self.assertEqual('cpu', self.read('/', paths.SUBTREE))
        self.assertEqual('cpu', self.read('/a', paths.CONTROLLERS))
        self.assert_ok(self.runtime('/a', 1_000))
        self.assertEqual('ENOENT', self.write('/a', paths.CPUS, '0'))
        self.assert_ok(self.subtree('/', '+cpuset'), self.subtree('/', '+cpu'),
                       self.write('/a', paths.CPUS, '0'))
        self.assertEqual('1000', self.read('/a', 'cpu.rt_runtime_us'))

    def test_effective_cpus(self) -> None:
        self.assert_ok(self.subtree('/', '+cpuset'))
        self.mkdir('/a')
        self.assert_ok(self.subtree('/a', '+cpuset'))
        self.mkdir('/a/b')

        def effective(group: str) -> str:
            return self.read(group, paths.EFFECTIVE)

        self.assertEqual(['0-3'] * 3, list(map(effective, (
            '/', '/a', '/a/b'))))
        self.assert_ok(self.write('/a', paths.CPUS, '1-2'))
        self.assertEqual('1-2', effective('/a/b'))
        self.assertEqual('', self.read('/a/b', paths.CPUS))
        self.assert_ok(self.write('/a/b', paths.CPUS, '2-3'))
        self.assertEqual('2', effective('/a/b'))
        self.assert_ok(self.write('/a/b', paths.CPUS, '3'))
        self.assertEqual('1-2', effective('/a/b'))
        self.assertEqual('ERANGE', self.write('/a', paths.CPUS, '4'))
        self.assertEqual('ENOENT', self.write('/', paths.CPUS, '0'))

    def test_no_processes_beside_groups_with_some(self) -> None:
        self.assert_ok(self.subtree('/', '+cpu'))
        self.mkdir('/a')
        self.mkdir('/a/b')
        self.task('/a/b')
        self.task('/', thread=8)
        self.assert_ok(self.subtree('/a', '+cpu'))
        self.assertEqual('EBUSY', self.move(8, '/a'))

    def test_threads(self) -> None:
        """libvirt's layout for QEMU."""
        self.assert_ok(self.subtree('/', '+cpu +cpuset'))
        self.mkdir('/q')
        self.kernel.spawn(7, '/q')
        self.kernel.spawn(8, '/q', process=7)
        self.assert_ok(self.subtree('/q', '+cpu +cpuset'))
        for name in ('emulator', 'vcpu0', 'vcpu1'):
            self.mkdir(f'/q/{name}', 'threaded')
        self.assertEqual('domain threaded', self.read('/q', paths.TYPE))
        self.assert_ok(self.write('/q/emulator', paths.PROCS, '7'))
        self.assert_ok(self.write('/q/vcpu0', paths.THREADS, '8'))
        self.assertEqual('8', self.read('/q/vcpu0', paths.THREADS))
        self.assertEqual('7', self.read('/q', paths.PROCS))
        self.assertEqual('ENOTSUP', self.result(
            lambda: self.read('/q/vcpu0', paths.PROCS)))
        self.assertEqual('ENOTSUP',
                         self.write('/', paths.THREADS, '8'))
        self.assert_ok(self.write('/q/vcpu1', paths.THREADS, '8'))
        self.mkdir('/q/invalid')
        self.assertEqual('domain invalid',
                         self.read('/q/invalid', paths.TYPE))
        self.assertEqual('ENOTSUP',
                         self.write('/q/invalid', paths.PROCS, '7'))
        self.assert_ok(self.write('/', paths.PROCS, '7'))
        self.assertEqual('7\n8', self.read('/', paths.THREADS))

    def test_real_time_threads_move_between_budgets(self) -> None:
        self.test_threads()
        for group in ('/q', '/q/vcpu0'):
            self.assert_ok(self.runtime(group, 1_000))
        self.task('/q/vcpu0', base.FIFO, 9)
        self.kernel.spawn(10, '/q/emulator', process=9)
        self.assertEqual('EINVAL', self.write('/q/vcpu1', paths.THREADS, '9'))
        self.assert_ok(self.runtime('/q', 2_000),
                       self.runtime('/q/vcpu1', 1_000),
                       self.write('/q/vcpu1', paths.THREADS, '9'))

    def test_groups_of_a_task(self) -> None:
        self.assertEqual({'': '/'}, self.kernel.spawn(7).groups)

    def test_mounts(self) -> None:
        point, kind, _ = self.kernel.mounts()[1]
        self.assertEqual((paths.UNIFIED_MOUNT, 'cgroup2'), (point, kind))
        self.assertEqual(2, hcbs.Kernel(version=2).version)
        self.assertEqual(point, posixpath.dirname(self.path('/', 'x')))
