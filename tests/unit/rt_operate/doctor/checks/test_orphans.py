# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.orphans: budgets nobody uses, and room to take."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_FREE = 'orphans.free'
_BUDGET, _ROOM, _PERIOD = 'orphans.budget', 'orphans.room', 'orphans.period'
OTHER = '/machine/lxc-8-b.libvirt-lxc'


class OrphansTest(base.DoctorTest):

    def test_none(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                found = self.examine(files)
                self.assert_ok(found, _BUDGET)
                self.assert_ok(found, _ROOM)
                self.assertNotIn(_PERIOD, found)

    def test_a_budget_without_a_task(self):
        found = self.examine(
            kernels.F1, base.f1_group('/machine', 400_000),
            base.f1_group(OTHER, 10_000, 100_000))
        self.assert_warns(found, _BUDGET, f'{OTHER} (0.100 (100000 ppm))',
                          'nova-compute')
        self.assert_ok(found, _ROOM)

    def test_only_the_topmost_is_named(self):
        found = self.examine(
            base.F1, base.f1_group('/machine', 100_000),
            base.f1_group(OTHER, 100_000),
            base.f1_group(f'{OTHER}/vcpu0', 100_000))
        self.assert_warns(found, _BUDGET, f'task: {OTHER} (0.100')
        self.assertNotIn('vcpu0', found[_BUDGET].text)

    def test_a_task_in_a_child_counts(self):
        found = self.examine(
            base.F1, base.f1_group('/machine', 100_000),
            base.f1_group(OTHER, 100_000),
            base.f1_group(f'{OTHER}/vcpu0', 100_000, tasks='9'))
        self.assert_ok(found, _BUDGET)
        self.assert_ok(found, _ROOM)

    def test_threads_of_a_group_elsewhere(self):
        path = f'{base.V2}{base.LXC}/cgroup.threads'
        found = self.examine(kernels.F3, refused={path: 95})
        self.assert_warns(found, _BUDGET, base.LXC)
        self.assert_problem(self.examine(kernels.F3, refused={path: 5}),
                            _BUDGET, 'could not be completed')

    def test_room(self):
        found = self.examine(kernels.F2, base.put(
            '/machine', runtime='300001', period='1000000'))
        self.assert_warns(found, _ROOM, '/machine (0.000 (1 ppm) more)')

    def test_room_that_is_there_by_design(self):
        """Mainline throttles parents, so the top group holds more."""
        self.assert_ok(self.examine(
            kernels.F1, base.f1_group('/machine', 950_000)), _ROOM,
            '/machine holds more than the servers')
        for files in (kernels.F2, base.F1):
            self.assert_ok(self.examine(files), _ROOM,
                           'holds more than the groups below it')
        self.assert_warns(self.examine(
            base.F1, base.f1_group('/machine', 950_000)), _ROOM, '/machine')

    def test_room_on_one_pcpu(self):
        found = self.examine(
            kernels.F2M, base.put('/machine', base.V2, multi='300000 10000'))
        self.assert_warns(found, _ROOM, '10000 ppm')

    def test_room_in_the_middle(self):
        found = self.examine(
            base.F1, base.f1_group('/machine', 200_000),
            base.f1_group(OTHER, 200_000),
            base.f1_group(f'{OTHER}/vcpu0', 150_000, tasks='9'))
        self.assert_warns(found, _ROOM, f'{OTHER} (0.050')

    def test_a_guest_may_keep_a_part_for_itself(self):
        found = self.examine(kernels.F1,
                             base.f1_group(f'{base.LXC}/own', 50_000,
                                           tasks='9'))
        self.assert_ok(found, _ROOM)

    def test_one_runtime_on_all_pcpus_is_no_room(self):
        found = self.examine(kernels.F5, base.put(
            '/machine', base.V2, max='310000 1000000', local='', cpus='0-1'))
        self.assert_warns(found, _ROOM, '10000 ppm')

    def test_a_container_that_may_run_in_real_time(self):
        other = {'max': 'max 0', 'cpus': '0-1'}
        for files, mark in ((kernels.F4, 'internal'), (kernels.F5, 'local')):
            for group, tasks, seen in (
                    (OTHER, '9', True), (OTHER, '', False),
                    (f'{base.LXC}/inner', '9', False),
                    (f'{OTHER}/vcpu0', '9', False)):
                with self.subTest(mark, group=group):
                    layers = [base.put(each, base.V2, tasks if each == group
                                       else '', **{mark: ''}, **other)
                              for each in {OTHER, group}]
                    found = self.examine(files, *layers)
                    if seen:
                        self.assert_warns(found, _FREE, f'time: {OTHER}',
                                          'nova-compute')
                    else:
                        self.assert_ok(found, _FREE)

    def test_no_container_may_where_all_of_them_hold_nothing(self):
        found = self.examine(
            kernels.F4, base.put('/machine', base.V2, max='0 1000000'),
            base.put(OTHER, base.V2, '9', max='max 0', internal=''))
        self.assert_ok(found, _FREE)

    def test_a_group_of_0(self):
        found = self.examine(kernels.F4, base.put(
            OTHER, base.V2, '9', max='0 1000000', internal=''))
        self.assert_ok(found, _FREE)
        self.assertNotIn(_FREE, self.examine(kernels.F1))

    def test_period(self):
        found = self.examine(kernels.F1, base.f1_group(
            '/machine', 30_000, 100_000))
        self.assert_problem(found, _PERIOD, '/machine (100000 us)',
                            'Set the period to 1000000')

    def test_others_are_none_of_ours(self):
        found = self.examine(kernels.F1, base.f1_group(
            '/docker', 30_000, 100_000))
        self.assertNotIn(_PERIOD, found)
        self.assert_ok(found, _BUDGET)
