# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.capacity: how much, and who holds it."""

import errno

from rt_operate.doctor.checks import capacity
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels


class CapacityTest(base.DoctorTest):

    def test_where_cpusets_do_not_reach_the_guests(self):
        found = self.examine(kernels.F5, base.put(
            '/', base.V2, '1', subtree='cpu'))
        self.assert_problem(
            found, 'capacity.offered', 'Nothing can be reserved',
            'of the root group lacks cpuset, so no guest can be kept')

    def test_what_a_host_sells_in_all(self):
        self.assert_ok(self.examine(kernels.F5), 'capacity.offered',
                       'on each pCPU, 1.800 of 2 pCPUs in all')
        self.assert_ok(self.examine(kernels.F4), 'capacity.offered',
                       'by all servers together')

    def test_of_each_interface(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                found = self.examine(files)
                scope, where = ('all servers together', 'left.') if name in (
                    'rt_group_sched', 'hcbs', 'hcbs_rfc', 'rt_max') else (
                    'on each pCPU', 'left on the fullest pCPU.')
                self.assert_ok(found, 'capacity.offered', scope, where)
                self.assert_ok(found, 'capacity.root', '00 ppm')
                self.assert_ok(found, 'capacity.servers', '/machine',
                               '0.300 (300000 ppm)', '1 group below it')
                self.assert_ok(found, 'capacity.others', 'No group besides')

    def test_by_pcpu(self):
        self.assert_ok(self.examine(kernels.F2M), 'capacity.servers',
                       '0.300 (300000 ppm) on pCPU 0,')

    def test_the_cap(self):
        for view, wanted in (
                (self.view(base.F1), 950_000),
                (self.view(base.F1, cpu_cap=0.5), 500_000),
                (self.view(base.MAINLINE, virt_type='lxc'), None)):
            self.assertEqual(capacity.Offer(wanted), capacity.offered(view))

    def test_a_report_says_one_number(self):
        """The number is read once, even if it changes meanwhile."""
        view = self.view(base.F1)
        first = capacity.offered(view)
        base.write(view.host.root, base.f1_group('/', 500_000))
        view.interface.capacity = None
        self.assertEqual(first, capacity.offered(view))
        self.assert_ok(self.say(view), 'capacity.offered', '950000 ppm')

    def test_what_is_left(self):
        for options, left in (({}, '0.650 (650000 ppm) of it is left'),
                              ({'cpu_cap': 0.2}, '0.000 (0 ppm) of it')):
            self.assert_ok(self.examine(kernels.F1, **options),
                           'capacity.offered', left)
        self.assert_ok(self.examine(base.F1), 'capacity.offered',
                       '0.950 (950000 ppm) of it is left')

    def test_others(self):
        found = self.examine(
            base.F1, base.f1_group('/docker', 100_000),
            base.f1_group('/docker/c', 100_000))
        self.assert_warns(found, 'capacity.others',
                          'have: /docker 0.100 (100000 ppm).',
                          'write 0 to their cpu.rt_runtime_us')
        self.assertNotIn('panic', found['capacity.others'].remedy)
        self.assert_ok(found, 'capacity.offered', '0.850 (850000 ppm)')

    def test_others_on_hcbs(self):
        found = self.examine(kernels.F2, base.f1_group('/docker', 100_000))
        self.assert_warns(found, 'capacity.others', 'panic')

    def test_others_where_groups_inherit(self):
        found = self.examine(
            kernels.F4, base.put('/system.slice/x.service', base.V2,
                                 max='100000 1000000', internal='0 0'))
        self.assert_warns(found, 'capacity.others', 'x.service 0.100',
                          'write max 0 to their cpu.rt.max')

    def test_the_other_partition_is_another_group(self):
        found = self.examine(base.F1, base.f1_group('/machine.slice'),
                             base.f1_group('/machine', 1_000))
        self.assert_warns(found, 'capacity.others', '/machine 0.001')

    def test_all_is_taken(self):
        found = self.examine(base.F1, base.f1_group('/docker', 950_000))
        self.assert_problem(found, 'capacity.offered',
                            'other groups or threads hold all')

    def test_a_root_without_a_share(self):
        found = self.examine(kernels.F4, base.put(
            '/', base.V2, max='0 1000000', subtree='cpu'), base.put(
            '/machine', base.V2, max='0 1000000', internal='0 0'))
        self.assert_warns(found, 'capacity.offered', 'Start nova-compute')
        self.assertNotIn('capacity.root', found)
        self.assert_ok(found, 'capacity.servers', 'holds no share')

    def test_not_enforced(self):
        found = self.examine(base.F1, {base.SYSCTL: '-1'})
        self.assert_problem(found, 'capacity.offered', 'is -1')

    def test_no_interface(self):
        found = self.examine(base.MAINLINE, virt_type='lxc')
        self.assertFalse([name for name in found
                          if name.startswith(('capacity', 'orphans'))])

    def test_garbage(self):
        found = self.examine(
            base.F1, {f'{base.V1}/{base.RUNTIME}': 'garbage'})
        self.assert_problem(found, 'capacity.offered', 'cannot read')
        self.assert_problem(found, 'capacity.root', 'could not be completed',
                            "'garbage'")

    def test_a_group_with_garbage(self):
        found = self.examine(
            kernels.F1, base.put('/x', runtime='lots', period='1000000'))
        self.assert_problem(found, 'capacity.unreadable', '/x: ', "'lots'")
        self.assert_ok(found, 'capacity.root')

    def test_a_group_that_was_removed_meanwhile(self):
        for number in (errno.ENOENT, errno.ENODEV):
            found = self.examine(
                kernels.F1, base.f1_group('/x', 1_000),
                refused={f'{base.V1}/x/{base.RUNTIME}': number})
            self.assertNotIn('capacity.unreadable', found)
            self.assert_ok(found, 'capacity.others')
            self.assert_ok(found, 'kernel.interface')
