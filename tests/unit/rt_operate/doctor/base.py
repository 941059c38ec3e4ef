# SPDX-License-Identifier: Apache-2.0

"""Hosts made of files, and what the doctor says about them."""

from collections.abc import Mapping
import errno
import functools
import os
import pathlib
import tempfile
from typing import Any
import unittest
from unittest import mock

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import base as kernel_base
from nova_rt.machine.kernel import detect
from rt_operate.doctor import examine
from rt_operate.doctor import findings
from rt_operate.doctor import options as doctor_options
from rt_operate.doctor import view as doctor_view

Files = dict[str, str | bytes]

V1 = '/sys/fs/cgroup/cpu'
V2 = '/sys/fs/cgroup'
RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
MULTI = 'cpu.rt_multi_runtime_us'
LXC = '/machine/lxc-7-a.libvirt-lxc'
FEATURES = '/sys/kernel/debug/sched/features'
SYSCTL = '/proc/sys/kernel/sched_rt_runtime_us'

#: Two CPUs, no guest, and nothing that is special.
PLAIN: Files = {
    '/proc/cmdline': 'quiet',
    '/proc/1/comm': 'systemd',
    '/proc/sys/kernel/osrelease': '6.18.0',
    '/proc/sys/kernel/sched_rt_period_us': '1000000',
    SYSCTL: '950000',
    '/proc/sys/kernel/sched_rr_timeslice_ms': '100',
    '/sys/devices/system/cpu/online': '0-1',
    '/sys/devices/system/cpu/possible': '0-1',
    '/sys/devices/system/cpu/present': '0-1',
    '/sys/devices/system/cpu/smt/active': '0',
    '/sys/kernel/debug/sched/features': 'HRTICK HRTICK_DL',
}


def process(pid: int, comm: str, group: str = '/', policy: int = 0,
            priority: int = 0, parent: int = 1, kernel: bool = False,
            v2: bool = False, thread: int = 0) -> Files:
    """Returns the files of a process with one thread, or of one more."""
    path = f'/proc/{pid}/task/{thread or pid}'
    stat = [b'0'] * 50
    stat[0], stat[1] = b'S', str(parent).encode()
    stat[6] = str(0x200000 if kernel else 0).encode()
    stat[37], stat[38] = str(priority).encode(), str(policy).encode()
    controller = '0:' if v2 else '1:cpu,cpuacct'
    return {
        f'{path}/stat': b'%d (%s) ' % (pid, comm.encode()) + b' '.join(stat),
        f'{path}/cgroup': f'2:memory:/elsewhere\n{controller}:{group}',
        f'{path}/status': 'Name:\tx\nCapBnd:\t000001ffffffffff\n'
                          'Cpus_allowed_list:\t0-1',
        f'{path}/limits': 'Max realtime priority     0     0    ',
        f'{path}/uid_map': '         0          0 4294967295',
    }


def mounts(*lines: str) -> Files:
    fields = [line.split() for line in lines]
    groups = [(kind, point, options.split(',')[-1])
              for _, point, kind, options, *_ in fields]
    return {
        '/proc/self/mounts': '\n'.join(
            ['sysfs /sys sysfs rw 0 0',
             'debugfs /sys/kernel/debug debugfs rw 0 0', *lines]),
        '/proc/self/mountinfo': '\n'.join(
            f'30 20 0:3 / {point} {options} - {kind} {source} {options}'
            for source, point, kind, options, *_ in fields),
        '/proc/self/status': 'Name:\tx\nNSpid:\t9',
        **process(2, 'kthreadd', kernel=True),
        '/proc/2/task/2/cgroup': '\n'.join(
            f'1:{name}:/' if kind == 'cgroup' else '0::/'
            for kind, _, name in groups),
        **{f'{point}/cgroup.procs': '2' for _, point, _ in groups},
    }


def put(group: str, mount: str = V1, tasks: str = '', **values: str | None
        ) -> Files:
    """Returns the files of a group; in *values*, ``_`` stands for each dot."""
    names = {'runtime': RUNTIME, 'period': PERIOD, 'multi': MULTI,
             'max': 'cpu.rt.max', 'internal': 'cpu.rt.internal',
             'local': 'cpu.rt.max.effective.local',
             'cpus': 'cpuset.cpus.effective',
             'subtree': 'cgroup.subtree_control'}
    path = mount + group.rstrip('/')
    listing = 'tasks' if mount == V1 else 'cgroup.threads'
    return {f'{path}/{listing}': tasks,
            **{f'{path}/{names[key]}': value for key, value
               in values.items() if value is not None}}


def f1_group(group: str, runtime: int = 0, period: int = 1_000_000,
             tasks: str = '') -> Files:
    return put(group, V1, tasks, runtime=str(runtime), period=str(period))


F1: Files = {
    **PLAIN, **mounts('cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0'),
    **f1_group('/', 950_000, tasks='1'),
}

#: cgroup v2 with the controller handed on, without any file of ours.
MAINLINE: Files = {
    **PLAIN, **mounts('cgroup2 /sys/fs/cgroup cgroup2 rw 0 0'),
    '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu',
    **put('/', V2, '1', subtree='cpuset cpu'),
    **put('/system.slice', V2),
}


#: The container of the kernels has a user namespace.
MAPPED: Files = {'/proc/71/task/71/uid_map': '0 1000000 65536'}


def write(root: str, files: Files) -> None:
    for path, content in files.items():
        file = pathlib.Path(root + path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() + b'\n' if isinstance(content, str)
                         else content)


class Refusing(host_files.Host):
    """A host on which nobody can read some files."""

    def __init__(self, root: str, refused: Mapping[str, int]) -> None:
        super().__init__(root)
        self.root = root
        self.refused = refused

    def _check(self, path: str) -> None:
        number = self.refused.get(path)
        if number is not None:
            raise OSError(number, os.strerror(number), path)

    def data(self, path: str) -> bytes:
        self._check(path)
        return super().data(path)

    def names(self, path: str) -> list[str]:
        self._check(path)
        return super().names(path)


@functools.cache
def _known() -> dict[str, type[kernel_base.KernelInterface]]:
    # To go through all that is installed takes longer than most tests.
    return detect.installed()


class DoctorTest(unittest.TestCase):
    """Runs the doctor on hosts with ticks of 4 ms, as at HZ=250."""

    def setUp(self) -> None:
        super().setUp()
        for module, name, value in ((ticks, 'tick_us', 4_000),
                                    (detect, 'installed', _known())):
            patch = mock.patch.object(module, name, return_value=value)
            patch.start()
            self.addCleanup(patch.stop)

    def host(self, *layers: Files, refused: Mapping[str, int] | None = None
             ) -> Refusing:
        """The later *layers* win."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        write(directory.name, {path: content for layer in layers
                               for path, content in layer.items()})
        return Refusing(directory.name, refused or {})

    def view(self, *layers: Files, refused: Mapping[str, int] | None = None,
             **options: Any) -> doctor_view.View:
        return doctor_view.View(
            self.host(*layers, refused=refused),
            doctor_options.Options(**{'min_runtime_us': 4_000, **options}))

    def examine(self, *layers: Files,
                refused: Mapping[str, int] | None = None, **options: Any
                ) -> dict[str, findings.Finding]:
        """The findings by their id."""
        return self.say(self.view(*layers, refused=refused, **options))

    def say(self, view: doctor_view.View) -> dict[str, findings.Finding]:
        """The findings by their id."""
        found = examine.examine(view)
        names = [one.id for one in found]
        self.assertCountEqual(set(names), names)
        for one in found:
            self.assert_readable(one)
        return {one.id: one for one in found}

    def assert_readable(self, one: findings.Finding) -> None:
        self.assertEqual(1, len(one.text.splitlines()), one)
        self.assertTrue(one.text.endswith('.'), one)
        self.assertNotIn('..', one.text.replace('...', ''), one)
        self.assertEqual(one.level is findings.Level.OK, not one.remedy, one)

    def assert_says(self, found: Mapping[str, findings.Finding], name: str,
                    level: findings.Level, *words: str) -> None:
        """*words* are in the text or the remedy."""
        self.assertIn(name, found)
        one = found[name]
        self.assertEqual(level, one.level, one)
        for word in words:
            self.assertIn(word, f'{one.text} {one.remedy}')

    def assert_ok(self, found: Mapping[str, findings.Finding], name: str,
                  *words: str) -> None:
        self.assert_says(found, name, findings.Level.OK, *words)

    def assert_warns(self, found: Mapping[str, findings.Finding], name: str,
                     *words: str) -> None:
        self.assert_says(found, name, findings.Level.WARNING, *words)

    def assert_problem(self, found: Mapping[str, findings.Finding],
                       name: str, *words: str) -> None:
        self.assert_says(found, name, findings.Level.PROBLEM, *words)


EPERM, EACCES = errno.EPERM, errno.EACCES
