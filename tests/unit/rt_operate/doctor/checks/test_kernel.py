# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.kernel: the interface, and why there is none."""

import gzip

from rt_operate.doctor.checks import kernel
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_ID = 'kernel.interface'
#: cgroup v1 without the files.
WITHOUT = {**base.PLAIN,
           **base.mounts('cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0'),
           **base.put('/')}
YES = {'/proc/config.gz': gzip.compress(
    b'# head\nCONFIG_RT_GROUP_SCHED=y\nCONFIG_HZ=250\n')}
NO = {'/boot/config-6.18.0': '# CONFIG_RT_GROUP_SCHED is not set'}


class KernelTest(base.DoctorTest):

    def test_found(self):
        for name, number in (('rt_group_sched', 'F1'), ('hcbs', 'F2'),
                             ('hcbs_multi', 'F2m'), ('hcbs_rfc', 'F3'),
                             ('hcbs_rfc_multi', 'F3m'), ('rt_max', 'F4'),
                             ('rt_max_cpuset', 'F5')):
            found = self.examine(kernels.ALL[name])
            self.assert_ok(found, _ID, f'{number} {name}: cpu.rt')

    def test_where(self):
        self.assert_ok(self.examine(kernels.F1), _ID,
                       'on cgroup v1 at /sys/fs/cgroup/cpu')
        self.assert_ok(self.examine(kernels.F4), _ID,
                       'on cgroup v2 at /sys/fs/cgroup')

    def containers(self, *layers):
        """Examines a host of containers, without any fallback."""
        return self.examine(*layers, virt_type='lxc')

    def test_v2_of_mainline(self):
        found = self.containers(base.MAINLINE)
        self.assert_problem(found, _ID, 'cgroup v2, where a mainline',
                            'unified_cgroup_hierarchy=0')
        self.assertNotIn('built without', found[_ID].text)

    def test_v2_built_without(self):
        found = self.containers(base.MAINLINE, NO)
        self.assert_problem(found, _ID, 'built without', 'virt_type')
        self.assertNotIn('unified_cgroup_hierarchy', found[_ID].remedy)

    def test_nothing_mounted(self):
        self.assert_problem(self.containers(base.PLAIN, base.mounts()), _ID,
                            'not mounted')

    def test_v1_built_without(self):
        self.assert_problem(self.containers(WITHOUT, NO), _ID, 'built without')

    def test_v1_switched_off_at_boot(self):
        found = self.containers(WITHOUT, YES,
                                {'/proc/cmdline': 'quiet rt_group_sched=0'})
        self.assert_problem(found, _ID, 'booted with rt_group_sched=0')

    def test_v1_not_switched_on_at_boot(self):
        config = {'/proc/config.gz': gzip.compress(
            b'CONFIG_RT_GROUP_SCHED=y\n'
            b'CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n')}
        self.assert_problem(self.containers(WITHOUT, config), _ID,
                            'without rt_group_sched=1')
        found = self.containers(WITHOUT, config,
                                {'/proc/cmdline': 'rt_group_sched=1'})
        self.assert_problem(found, _ID, 'lack cpu.rt_runtime_us')

    def test_v1_built_with_it(self):
        self.assert_problem(self.containers(WITHOUT, YES), _ID,
                            'lack cpu.rt_runtime_us',
                            'unified_cgroup_hierarchy=1')

    def test_v1_unknown(self):
        for config in ({}, {'/proc/config.gz': b'\x1f\x8bgarbage'}):
            self.assert_problem(self.containers(WITHOUT, config), _ID,
                                'neither /proc/config.gz')

    def test_only_the_root_has_a_file(self):
        found = self.examine(base.MAINLINE,
                             base.put('/', base.V2, max='0 1000000'))
        self.assert_warns(found, _ID, 'cpu.rt.max',
                          'which interface it belongs to.',
                          'Start nova-compute')

    def test_the_controller_is_not_handed_on(self):
        found = self.examine(base.MAINLINE, base.put(
            '/', base.V2, max='0 1000000', subtree='memory'))
        self.assert_warns(found, _ID, 'cgroup.subtree_control of the root '
                          'group lacks cpu')

    def test_no_group_has_the_controller(self):
        """A kernel may have its files only in groups below the root."""
        found = self.containers(base.MAINLINE, base.put(
            '/', base.V2, subtree='memory'))
        self.assert_warns(
            found, _ID, 'No group shows whether the kernel has budgets',
            'cgroup.subtree_control of the root group lacks cpu',
            'Start nova-compute')

    def test_no_group_has_the_controller_but_the_build_is_known(self):
        found = self.containers(base.MAINLINE, NO, base.put(
            '/', base.V2, subtree='memory'))
        self.assert_problem(found, _ID, 'built without')

    def test_cannot_be_told(self):
        found = self.examine(kernels.F1,
                             {f'{base.V1}/machine/{base.PERIOD}': 'x'})
        self.assert_problem(found, _ID, 'is not known')

    def test_forced(self):
        found = self.examine(kernels.F1, kernel_interface='hcbs')
        self.assert_ok(found, _ID, 'F2 hcbs', 'forced')
        self.assert_warns(found, 'kernel.forced', 'is hcbs',
                          'seems to have rt_group_sched')

    def test_forced_to_what_it_is(self):
        found = self.examine(kernels.F1, kernel_interface='rt_group_sched')
        self.assertNotIn('kernel.forced', found)

    def test_priorities_that_are_lent(self):
        lends = {'/proc/config.gz': gzip.compress(
            b'CONFIG_PREEMPT_RCU=y\nCONFIG_RCU_BOOST=y\n')}
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                self.assertNotIn('kernel.boost', self.examine(files, YES))
                found = self.examine(files, lends)
                if name == 'rt_group_sched':
                    self.assertNotIn('kernel.boost', found)
                else:
                    self.assert_warns(found, 'kernel.boost',
                                      'has CONFIG_RCU_BOOST:', 'may hang')

    def test_config_of_the_kernel(self):
        self.assertTrue(kernel.rt_group_sched(self.host(base.PLAIN, YES)))
        self.assertIs(False,
                      kernel.rt_group_sched(self.host(base.PLAIN, NO)))
        self.assertIsNone(kernel.rt_group_sched(self.host(base.PLAIN)))
