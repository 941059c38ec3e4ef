# SPDX-License-Identifier: Apache-2.0

"""Trees of kernel files below a scratch directory."""

import os
import pathlib

_MOUNT = '/sys/fs/cgroup'


class Tree:
    """A root directory with /proc and control groups in it."""

    def __init__(self, root):
        self.root = str(root)

    def write(self, path, text):
        """Writes in place: a reader with the file open sees the new text."""
        target = pathlib.Path(self.root + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def first(self, group, shown='/'):
        """Mounts cgroup v1, cpu and cpuacct apart, in a container."""
        self.write('/proc/self/cgroup', f'2:cpuacct:{group}\n1:cpu:{group}\n')
        self.write('/proc/self/mountinfo', ''.join(
            f'3{number} 30 0:2{number} {shown} {_MOUNT}/{name} rw - cgroup '
            f'cgroup rw,{name}\n'
            for number, name in enumerate(('cpu', 'cpuacct'))))

    def second(self, group, shown='/'):
        """Mounts cgroup v2."""
        self.write('/proc/self/cgroup', f'0::{group}\n')
        self.write('/proc/self/mountinfo',
                   f'31 30 0:27 {shown} {_MOUNT} rw - cgroup2 cgroup2 rw\n')

    def quota(self, group='', used_ns=0, periods=0, throttled=0, quota=30_000,
              period=100_000):
        """Makes a group of v1 with a limit for ordinary tasks."""
        cpu, accounting = f'{_MOUNT}/cpu{group}', f'{_MOUNT}/cpuacct{group}'
        for path in (cpu, accounting):
            self.write(f'{path}/cgroup.procs', '')
            self.write(f'{path}/notify_on_release', '0\n')
            self.write(f'{path}/tasks', '')
        self.write(f'{cpu}/cpu.cfs_quota_us', f'{quota}\n')
        self.write(f'{cpu}/cpu.cfs_period_us', f'{period}\n')
        self.write(f'{cpu}/cpu.stat', f'nr_periods {periods}\nnr_throttled '
                                      f'{throttled}\nthrottled_time 0\n')
        self.write(f'{accounting}/cpuacct.usage', f'{used_ns}\n')

    def unified(self, group='', used_us=0, periods=0, throttled=0,
                limit='30000 100000', pressure=None):
        """Makes a group of v2."""
        path = f'{_MOUNT}{group}'
        for name in ('cgroup.procs', 'cgroup.threads', 'cgroup.type'):
            self.write(f'{path}/{name}', '')
        self.write(f'{path}/cpu.max', f'{limit}\n')
        self.write(f'{path}/cpu.stat', f'usage_usec {used_us}\nuser_usec 0\n'
                   f'nr_periods {periods}\nnr_throttled {throttled}\n')
        if pressure is not None:
            self.write(f'{path}/cpu.pressure',
                       'some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n'
                       'full avg10=0.00 avg60=0.00 avg300=0.00 '
                       f'total={pressure}\n')

    def stat(self, *times):
        """Writes the first lines of /proc/stat."""
        line = ' '.join(map(str, times))
        self.write('/proc/stat', f'cpu  {line}\ncpu0 {line}\nintr 1\n')

    def namespaces(self, pid=4026531836, cgroup=4026531835):
        """Makes the namespaces of this process; by default the first ones."""
        folder = pathlib.Path(f'{self.root}/proc/self/ns')
        folder.mkdir(parents=True, exist_ok=True)
        for name, number in (('pid', pid), ('cgroup', cgroup)):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(f'{name}:[{number}]')

    def move(self, group):
        """Removes a group of v1, as rmdir(2) would."""
        for tree in ('cpu', 'cpuacct'):
            path = f'{self.root}{_MOUNT}/{tree}{group}'
            os.rename(path, f'{path}-gone')
