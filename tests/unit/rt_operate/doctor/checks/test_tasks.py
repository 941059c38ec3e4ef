# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.tasks: real-time tasks in the wrong place."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_NONE, _MIDDLE, _PRIORITY = ('tasks.no_budget', 'tasks.middle',
                             'tasks.priority')


class RealtimeTest(base.DoctorTest):

    def test_where_they_belong(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                found = self.examine(files)
                self.assert_ok(found, _NONE, '1 real-time tasks')
                if name in ('rt_group_sched', 'rt_max', 'rt_max_cpuset'):
                    self.assertNotIn(_MIDDLE, found)
                else:
                    self.assert_ok(found, _MIDDLE)

    def test_without_a_budget(self):
        found = self.examine(
            kernels.F1, base.f1_group('/x'),
            base.process(90, 'a b) c', '/x'),
            base.process(90, 'worker', '/x', 1, 5, thread=91))
        self.assert_problem(found, _NONE, '91 worker FIFO 5 in /x.', 'chrt')

    def test_more_than_a_few(self):
        found = self.examine(kernels.F1, base.f1_group('/x'), *(
            base.process(pid, 'y', '/x', 2, 1) for pid in range(90, 96)))
        self.assert_problem(found, _NONE, '92 y RR 1 in /x and 3 more.')

    def test_where_groups_inherit(self):
        found = self.examine(kernels.F4, base.process(
            90, 'y', '/system.slice/z', 2, 1, v2=True))
        self.assert_ok(found, _NONE)
        found = self.examine(kernels.F4, base.process(
            90, 'y', '/system.slice', 2, 1, v2=True))
        self.assert_ok(found, _NONE)
        new = '/machine/lxc-8-b.libvirt-lxc'
        found = self.examine(
            kernels.F4, base.put(new, base.V2, max='max 0', internal='0 0'),
            base.process(90, 'y', new, 2, 1, v2=True))
        self.assert_problem(found, _NONE, f'90 y RR 1 in {new}')
        found = self.examine(
            kernels.F4, base.put('/z', base.V2, max='0 100', internal='0 0'),
            base.process(90, 'y', '/z', 2, 1, v2=True))
        self.assert_problem(found, _NONE, 'in /z')

    def test_in_the_middle(self):
        task = base.process(90, 'y', '/machine', 2, 1)
        found = self.examine(kernels.F2, task)
        self.assert_problem(found, _MIDDLE, '90 y RR 1 in /machine')
        self.assertNotIn(_MIDDLE, self.examine(kernels.F1, task))

    def test_priority(self):
        found = self.examine(
            kernels.F1, base.process(90, 'corosync', '/', 2, 10),
            base.process(91, 'low', '/', 2, 9),
            base.process(92, 'irq/9', '/', 1, 50, kernel=True))
        self.assert_warns(found, _PRIORITY, '10 (guest_priority)',
                          'starve servers: 90 corosync RR 10.')
        self.assertNotIn(_PRIORITY, self.examine(
            kernels.F2, base.process(90, 'corosync', '/', 2, 10)))

    def test_kernel_threads_are_no_trouble(self):
        found = self.examine(kernels.F1, base.process(
            92, 'irq/9', '/', 1, 50, kernel=True))
        self.assert_ok(found, _PRIORITY, 'not counting 1 kernel thread')

    def test_on_other_cpus(self):
        task = base.process(90, 'corosync', '/', 2, 50)
        status = {'/proc/90/task/90/status': 'Cpus_allowed_list:\t0'}
        self.assert_ok(self.examine(kernels.F1, task, status, rt_cpus='1'),
                       _PRIORITY)
        for rt_cpus in (None, '0', 'garbage', '7'):
            self.assert_warns(
                self.examine(kernels.F1, task, status, rt_cpus=rt_cpus),
                _PRIORITY)

    def test_ended_meanwhile(self):
        found = self.examine(
            kernels.F1, base.process(90, 'x', '/', 2, 50),
            refused={f'/proc/90/task/90/{name}': 3
                     for name in ('cgroup', 'status')})
        self.assert_ok(found, _NONE)
        self.assert_ok(found, _PRIORITY)

    def test_garbage(self):
        found = self.examine(kernels.F1, {'/proc/90/task/90/stat': 'x'})
        self.assert_problem(found, _NONE, '/proc/90/task/90/stat')
