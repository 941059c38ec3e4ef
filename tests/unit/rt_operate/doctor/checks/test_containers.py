# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.containers: what would stop chrt in one."""

import errno

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor.checks import test_kernel
from tests.unit.rt_operate.doctor import kernels

_ID = 'containers.chrt'
_INIT = '/proc/71/task/71/'
#: Without bit 23.
_BOUND = {_INIT + 'status': 'CapBnd:\t000001ffff7fffff'}


class ContainersTest(base.DoctorTest):

    def test_no_container(self):
        found = self.examine(base.F1, base.process(
            80, 'qemu-kvm', '/machine/qemu-1-b.libvirt-qemu/emulator'))
        self.assert_ok(found, _ID, 'No container runs')

    def test_it_works(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                self.assert_ok(self.examine(files), _ID,
                               'works in 1 container with a budget.')

    def test_without_a_budget(self):
        found = self.examine(kernels.F1, base.f1_group(base.LXC, 0))
        self.assert_ok(found, _ID, '0 containers with', 'in 1 container '
                       'without a budget', 'EPERM')

    def test_inherited_budgets(self):
        found = self.examine(kernels.F4, base.put(
            base.LXC, base.V2, max='max 0'))
        self.assert_ok(found, _ID, '0 containers with',
                       'unless a group above has a budget')

    def test_no_capability(self):
        found = self.examine(kernels.F1, _BOUND, guest_policy='none')
        self.assert_warns(found, _ID, 'lxc-7-a.libvirt-lxc (no CAP_SYS_NICE',
                          'RLIMIT_RTPRIO is 0', 'guest_policy')

    def test_made_real_time_from_outside(self):
        self.assert_ok(self.examine(kernels.F1, _BOUND), _ID,
                       'no CAP_SYS_NICE', 'without chrt (guest_policy rr)')

    def test_user_namespace(self):
        found = self.examine(kernels.F1, {_INIT + 'uid_map': '0 10000 100'},
                             guest_policy='none')
        self.assert_warns(found, _ID, 'user namespace')

    def test_the_limit_is_enough(self):
        for value in ('5', 'unlimited'):
            limits = {_INIT + 'limits': f'Max realtime priority {value} 9'}
            found = self.examine(kernels.F1, _BOUND, limits,
                                 guest_policy='none')
            self.assert_ok(found, _ID, 'works')

    def test_the_helper_of_libvirt_is_not_init(self):
        found = self.examine(
            kernels.F1, base.process(69, 'lxc-fuse', base.LXC, parent=70),
            {'/proc/69/task/69/limits': 'Max realtime priority 99 99'},
            _BOUND, guest_policy='none')
        self.assert_warns(found, _ID)

    def test_ended_meanwhile(self):
        for name in ('status', 'limits', 'uid_map'):
            found = self.examine(kernels.F1, _BOUND, guest_policy='none',
                                 refused={_INIT + name: errno.ESRCH})
            self.assert_ok(found, _ID)

    def test_never_on_v2_of_mainline(self):
        self.assert_problem(
            self.examine(base.MAINLINE, test_kernel.YES, virt_type='lxc'),
            _ID,
            'cannot work in any container', 'only tasks of the root group')
        for config in ({}, test_kernel.NO):
            self.assert_ok(self.examine(base.MAINLINE, config,
                                        virt_type='lxc'), _ID)

    def test_garbage(self):
        for name, text in (('status', 'CapBnd:\tzz'), ('status', 'x'),
                           ('limits', 'Max realtime priority x x')):
            found = self.examine(kernels.F1, {_INIT + name: text},
                                 guest_policy='none')
            self.assert_problem(found, _ID, 'could not be completed')
