# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.deadline: SCHED_DEADLINE in place of groups."""

from unittest import mock

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline as kernel_deadline
from nova_rt.rules import cpulist
from rt_operate.doctor.checks import capacity
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor.checks import test_deadline_servers
from tests.unit.rt_operate.doctor.checks import test_kernel

_ISOLATED = {cpulist.ISOLATED: ''}


class DeadlineTest(base.DoctorTest):
    """The tests on a kernel that has no budget for groups."""

    def look(self, *layers, **options):
        return self.examine(
            base.MAINLINE, _ISOLATED,
            test_deadline_servers.server('fair', '50000000'), *layers,
            kernel_interface=kernel_deadline.NAME, **options)

    def test_interface(self):
        found = self.look(test_kernel.YES)
        self.assert_ok(found, 'kernel.interface', 'sched_deadline', 'forced')
        self.assertNotIn('kernel.forced', found)
        self.assert_ok(found, 'containers.chrt')

    def test_capacity(self):
        with mock.patch.object(kernel_deadline, '_version',
                               return_value=(6, 11)):
            found = self.look()
        self.assert_ok(found, 'capacity.offered', '0.900', 'on each pCPU')
        self.assert_ok(self.look(cpu_cap=0.5), 'capacity.offered', '0.500')

    def test_others(self):
        mine, theirs = '/machine/qemu-1-a.libvirt-qemu', '/system.slice/x'
        policies = {90: (1, 2), 91: (300, 1000), 92: (1, 2)}
        tasks = {
            **base.process(80, 'qemu-kvm', f'{mine}/emulator', v2=True),
            **base.process(90, 'CPU 0/KVM', f'{mine}/vcpu0', 6, v2=True),
            **base.process(91, 'other', theirs, 6, v2=True),
            **base.process(92, 'sugov:0', '/', 6, kernel=True, v2=True)}
        with (mock.patch.object(kernel_deadline, '_version',
                                return_value=(6, 11)),
              mock.patch.object(
                  sched, 'get', lambda tid: sched.Policy(
                      6, 0, policies[tid][0], 0, policies[tid][1]))):
            found = self.look(tasks)
        # It may come to any pCPU: 0.900 - 0.300.
        self.assert_ok(found, 'capacity.offered', '0.600')
        self.assert_warns(found, 'deadline.others', 'other')

    def test_others_that_reclaim(self):
        """Beside such threads, neither text nor number offers anything."""
        tasks = base.process(91, 'other', '/machine.slice/libpod-1', 6,
                             v2=True)
        view = self.view(base.MAINLINE, _ISOLATED, tasks,
                         kernel_interface=kernel_deadline.NAME)
        with mock.patch.object(sched, 'get', return_value=sched.Policy(
                6, 0, 300, 1000, 1000, True)):
            found = self.say(view)
            self.assertIsNone(capacity.offered(view).ppm)
        self.assert_problem(found, 'deadline.others', '91 other',
                            'SCHED_FLAG_RECLAIM')
        self.assert_problem(found, 'capacity.offered', '91 other')

    def test_chosen_by_itself(self):
        """No option names the interface, and the kernel has no other."""
        found = self.examine(base.MAINLINE, _ISOLATED, test_kernel.NO)
        self.assert_ok(found, 'kernel.interface', 'sched_deadline',
                       'no budgets to groups')
        self.assert_ok(found, 'deadline.others')
        self.assert_ok(found, 'deadline.real_time')
        found = self.examine(base.MAINLINE, test_kernel.NO, virt_type='lxc')
        self.assert_problem(found, 'kernel.interface', 'virt_type')
        self.assertNotIn('deadline.others', found)

    def test_real_time_tasks_of_the_host(self):
        found = self.look(base.process(90, 'spinner', '/system.slice/x', 1,
                                       v2=True))
        self.assert_warns(found, 'deadline.real_time', 'spinner')

    def test_pinned(self):
        group = '/machine/qemu-1-a.libvirt-qemu'
        tasks = {
            **base.process(80, 'qemu-kvm', f'{group}/emulator', v2=True),
            **base.process(90, 'CPU 0/KVM', f'{group}/vcpu0', 6, v2=True)}
        with mock.patch.object(sched, 'get', return_value=sched.Policy(
                6, 0, 300, 1000, 1000)):
            for cpus, check in (({1}, self.assert_ok),
                                ({0, 1}, self.assert_warns)):
                with mock.patch('os.sched_getaffinity', return_value=cpus):
                    check(self.look(tasks), 'deadline.pinned')

    def test_polling(self):
        self.assertNotIn('deadline.halt_poll', self.look())
        for value, check in (('0', self.assert_ok),
                             ('200000', self.assert_warns)):
            check(self.look({'/sys/module/kvm/parameters/halt_poll_ns':
                             value}), 'deadline.halt_poll')

    def test_not_enforced(self):
        self.assert_problem(self.look({base.SYSCTL: '-1'}),
                            'capacity.offered', 'is -1')

    def test_all_is_taken(self):
        self.assert_problem(
            self.look(test_deadline_servers.server('ext', '910000000')),
            'capacity.offered', 'other groups or threads hold all')

    def test_timer(self):
        self.assert_ok(self.look(), 'timing.hrtick')
        found = self.look({base.FEATURES: 'NO_HRTICK_DL'}, min_runtime_us=100)
        self.assert_warns(found, 'timing.hrtick')
        self.assert_warns(found, 'timing.tick')

    def test_containers(self):
        self.assertNotIn('deadline.containers', self.look())
        self.assert_problem(self.look(virt_type='lxc'),
                            'deadline.containers', 'no share')
