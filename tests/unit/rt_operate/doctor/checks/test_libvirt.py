# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.libvirt: where libvirt and systemd put things."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_LAYOUT, _GUESTS = 'libvirt.layout', 'libvirt.guests'
_CPU = 'systemd.cpu_controller'
_SCOPE = '/machine.slice/machine-lxc\\x2d7\\x2da.scope/libvirt'


class LibvirtTest(base.DoctorTest):

    def test_before_the_first_guest(self):
        found = self.examine(base.F1)
        self.assert_ok(found, _LAYOUT, '/machine, once')
        self.assert_ok(found, _GUESTS, 'No guest')
        found = self.examine(base.F1, base.f1_group('/system.slice'))
        self.assert_ok(found, _LAYOUT, '/machine.slice, once')

    def test_guests(self):
        machine = base.process(80, 'qemu-system-x86',
                               '/machine/qemu-1-b.libvirt-qemu/emulator')
        found = self.examine(kernels.F1, machine)
        self.assert_ok(found, _LAYOUT, 'below /machine.')
        self.assert_ok(found, _GUESTS, '2 guests run: lxc-7-a.libvirt-lxc '
                       '(container), qemu-1-b.libvirt-qemu (machine).')

    def test_with_systemd(self):
        found = self.examine(
            base.F1, base.f1_group('/machine.slice'),
            base.process(70, 'libvirt_lxc', _SCOPE))
        self.assert_ok(found, _LAYOUT, 'below /machine.slice, in the group '
                                       'libvirt of their scope')
        self.assert_ok(found, _GUESTS, '1 guest runs: '
                       'machine-lxc\\x2d7\\x2da.scope (container)')

    def test_mounted_together(self):
        found = self.examine(base.F1, base.mounts(
            'cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0'))
        self.assert_ok(found, _LAYOUT, 'mounted together')

    def test_two_partitions(self):
        found = self.examine(kernels.F1, base.f1_group('/machine.slice'))
        self.assert_warns(found, _LAYOUT, '/machine.slice and /machine')

    def test_elsewhere(self):
        found = self.examine(kernels.F1, base.process(
            80, 'libvirt_lxc', '/p.partition/lxc-80-b.libvirt-lxc'))
        self.assert_warns(found, _GUESTS, 'outside of /machine: /p.partition')

    def test_in_the_root_is_no_guest(self):
        found = self.examine(base.F1, base.process(80, 'qemu-kvm', '/'))
        self.assert_ok(found, _GUESTS, 'No guest')

    def test_pid_1(self):
        self.assert_ok(self.examine(base.F1), 'systemd.present',
                       'is systemd,')
        self.assert_ok(self.examine(base.F1, {'/proc/1/comm': 'init'}),
                       'systemd.present', 'is init, not')

    def test_real_time_tasks_in_the_way_of_the_controller(self):
        off = base.put('/', base.V2, subtree='memory')
        rtkit = base.process(90, 'rtkit-daemon', '/system.slice/rtkit', 2,
                             99, v2=True)
        kernel = base.process(91, 'migration/0', '/', 1, 99, v2=True)
        quiet = base.process(71, 'init', base.LXC, parent=70, v2=True)
        found = self.examine(kernels.F3, off, rtkit, kernel, quiet)
        self.assert_problem(found, _CPU, 'EINVAL', 'outside of the root '
                            'group: 90 rtkit-daemon RR 99 in '
                            '/system.slice/rtkit.')
        self.assert_ok(self.examine(kernels.F3, off, kernel, quiet), _CPU,
                       'not yet enabled')
        self.assert_ok(self.examine(kernels.F3, rtkit), _CPU, 'is enabled')
        for files in (kernels.F1, kernels.F4):
            self.assertNotIn(_CPU, self.examine(files, off, rtkit))
