# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.deadline_servers: those of the other classes."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_PATH = '/sys/kernel/debug/sched/'


def server(kind, runtime):
    return {f'{_PATH}{kind}_server/cpu{cpu}/{name}': value
            for cpu in (0, 1)
            for name, value in (('runtime', runtime),
                                ('period', '1000000000'))}


class ServersTest(base.DoctorTest):

    def test_none(self):
        for kind in ('fair', 'ext'):
            self.assert_ok(self.examine(kernels.F4), f'servers.{kind}',
                           f'There is no {kind}_server')

    def test_fair(self):
        found = self.examine(kernels.F4, server('fair', '50000000'))
        self.assert_ok(found, 'servers.fair', '0.050 (50000 ppm)')

    def test_ext_without_a_scheduler(self):
        ext = server('ext', '50000000')
        idle = {'/sys/kernel/sched_ext/state': 'disabled'}
        for state in ({}, idle):
            self.assert_warns(self.examine(kernels.F4, ext, state),
                              'servers.ext', 'cpu*/runtime')
        self.assert_ok(self.examine(kernels.F1, ext, idle), 'servers.ext')
        idle['/sys/kernel/sched_ext/state'] = 'enabled'
        self.assert_ok(self.examine(kernels.F4, ext, idle), 'servers.ext')

    def test_locked_down(self):
        path = f'{_PATH}fair_server/cpu1/runtime'
        fair = server('fair', '50000000')
        found = self.examine(kernels.F4, fair, refused={path: base.EPERM})
        self.assert_warns(found, 'servers.fair', path, 'EPERM', 'locked-down')
        found = self.examine(kernels.F1, fair, refused={path: base.EPERM})
        self.assert_ok(found, 'servers.fair', 'EPERM',
                       'do not depend on this value')

    def test_not_root(self):
        found = self.examine(kernels.F4,
                             refused={f'{_PATH}fair_server': base.EACCES})
        self.assert_warns(found, 'servers.fair', 'only root may')

    def test_not_mounted(self):
        found = self.examine(kernels.F1, {
            '/proc/self/mounts': 'cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0'})
        self.assert_ok(found, 'servers.fair', 'debugfs is not mounted')

    def test_garbage(self):
        for kind in ('fair', 'ext'):
            found = self.examine(kernels.F4, server(kind, 'much'))
            self.assert_problem(found, f'servers.{kind}', "'much'")
