# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.passive: which interface it is, without touching."""

from unittest import mock

from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import passive
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels


class PassiveTest(base.DoctorTest):
    """One host for each of the interfaces."""

    def found(self, *layers, forced=None):
        return passive.find(self.host(*layers), forced)

    def test_each(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                found = self.found(files)
                self.assertEqual('', found.trouble)
                self.assertEqual(name, found.interface.name)
                self.assertEqual(name, found.seen)

    def test_the_first_hcbs_patches_on_v2(self):
        self.assertEqual('hcbs', self.found(kernels.F2_V2).interface.name)

    def test_no_group_yet_on_v1(self):
        self.assertEqual('rt_group_sched',
                         self.found(base.F1).interface.name)

    def test_how_sure(self):
        for name, sure in (('rt_group_sched', False), ('hcbs', False),
                           ('hcbs_multi', True), ('hcbs_rfc', False),
                           ('hcbs_rfc_multi', False), ('rt_max', True),
                           ('rt_max_cpuset', True)):
            how = self.found(kernels.ALL[name]).how
            self.assertEqual(sure, how.startswith('sure'), name)
            self.assertEqual(not sure, 'scratch group' in how, name)

    def test_what_tells_f1_from_f2(self):
        self.assertIn('lacks "hcbs"', self.found(kernels.F1).how)
        self.assertIn('-hcbs has "hcbs"', self.found(kernels.F2).how)

    def test_the_name(self):
        self.assertEqual('hcbs', self.found(kernels.F2).name)
        self.assertEqual('sched_deadline', self.found(
            kernels.F2, forced=deadline.NAME).name)
        self.assertIsNone(self.found(base.MAINLINE).name)

    def test_the_file(self):
        for name, file in (('rt_group_sched', base.RUNTIME),
                           ('hcbs_multi', base.MULTI),
                           ('rt_max', 'cpu.rt.max')):
            self.assertEqual(file, self.found(kernels.ALL[name]).file)

    def test_forced(self):
        found = self.found(kernels.F2, forced='rt_group_sched')
        self.assertEqual('rt_group_sched', found.interface.name)
        self.assertEqual('hcbs', found.seen)
        self.assertIn('forced', found.how)

    def test_forced_where_it_cannot_be_told(self):
        found = self.found(
            base.F1, {f'{base.V1}/{base.PERIOD}': 'garbage'},
            forced='rt_group_sched')
        self.assertEqual('rt_group_sched', found.interface.name)

    def test_forced_to_what_is_none(self):
        found = self.found(base.F1, forced='rt_grp')
        self.assertIsNone(found.interface)
        self.assertIn('kernel_interface is rt_grp', found.trouble)
        self.assertIn('rt_max', found.trouble)

    def test_garbage(self):
        for text in ('', 'garbage', 'x 3'):
            found = self.found(base.F1, {f'{base.V1}/{base.PERIOD}': text})
            self.assertIsNone(found.interface)
            self.assertIn('cannot find out', found.trouble)

    def test_not_installed(self):
        with mock.patch.object(detect, 'installed', return_value={}):
            self.assertIn('not installed', self.found(base.F1).trouble)

    def test_only_the_root_has_the_file(self):
        for key in ('runtime', 'max', 'multi'):
            found = self.found(base.MAINLINE,
                               base.put('/', base.V2, **{key: '0'}))
            self.assertIsNone(found.interface)
            self.assertTrue(found.file)
