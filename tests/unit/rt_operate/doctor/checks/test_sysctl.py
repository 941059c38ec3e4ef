# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.sysctl: settings for all real-time tasks."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_RUNTIME = 'sysctl.rt_runtime'
_ROOT = 'sysctl.root_group'


class SysctlsTest(base.DoctorTest):

    def test_ok(self):
        found = self.examine(base.F1)
        self.assert_ok(found, _RUNTIME, 'is 950000 in every 1000000')
        self.assert_ok(found, _ROOT, 'agrees')

    def test_off(self):
        found = self.examine(base.F1, {base.SYSCTL: '-1'})
        self.assert_problem(found, _RUNTIME, 'is -1', '=950000')
        self.assertNotIn(_ROOT, found)

    def test_nothing(self):
        self.assert_problem(self.examine(base.F1, {base.SYSCTL: '0'}),
                            _RUNTIME, 'never run')

    def test_all(self):
        found = self.examine(base.F1, {base.SYSCTL: '1000000'})
        self.assert_warns(found, _RUNTIME, 'leave no CPU time')
        self.assert_warns(found, _ROOT, '0.950', '1.000',
                          'Also raise cpu.rt_runtime_us')

    def test_all_is_how_late_hcbs_kernels_start(self):
        found = self.examine(kernels.F4, {base.SYSCTL: '1000000'})
        self.assert_ok(found, _RUNTIME)
        self.assert_ok(found, _ROOT, 'the rest is for SCHED_DEADLINE')

    def test_all_is_the_default_where_a_fair_server_runs(self):
        servers = '/sys/kernel/debug/sched/fair_server'
        found = self.examine(base.MAINLINE, {
            base.SYSCTL: '1000000', f'{servers}/cpu0/runtime': '50000000',
            f'{servers}/cpu0/period': '1000000000'})
        self.assert_ok(found, _RUNTIME, 'fair_server', '0.050')

    def test_root_above(self):
        found = self.examine(base.F1, {base.SYSCTL: '900000'})
        self.assert_warns(found, _ROOT, '0.950', '0.900', 'Lower')

    def test_rounding_is_agreement(self):
        found = self.examine(base.F1, {base.SYSCTL: '950002'})
        self.assert_ok(found, _ROOT)

    def test_garbage(self):
        found = self.examine(base.F1, {base.SYSCTL: 'x' * 99})
        self.assert_problem(found, _RUNTIME, 'could not be completed',
                            f"{base.SYSCTL} reads '{'x' * 40}', which is not")

    def test_timeslice(self):
        name = 'sysctl.rr_timeslice'
        path = '/proc/sys/kernel/sched_rr_timeslice_ms'
        self.assert_ok(self.examine(base.F1), name, 'every 100 ms')
        self.assert_warns(self.examine(base.F1, {path: '-1'}), name,
                          'not a valid len')
        self.assertNotIn(name, self.examine(base.F1, guest_policy='fifo'))
