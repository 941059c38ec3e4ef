# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.timing: ticks, HRTICK and the capacity."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_HRTICK = 'timing.hrtick'
_TICK = 'timing.tick'


class TimingTest(base.DoctorTest):

    def test_mainline_works_in_ticks(self):
        found = self.examine(kernels.F1, min_runtime_us=100)
        self.assertNotIn(_HRTICK, found)
        self.assert_warns(found, _TICK, 'ticks of 4000 us', 'runtime (100)',
                          'period (1000)', 'only in the long run',
                          'min_runtime_us = 4000')
        found = self.examine(kernels.F1, min_runtime_us=3_999,
                             min_period_us=4_000)
        self.assert_warns(found, _TICK, 'runtime (3999) that is allowed')
        self.assert_ok(self.examine(kernels.F1), _TICK, '4000 us')

    def test_hrtick_on(self):
        for name, files in kernels.HCBS.items():
            found = self.examine(files, min_runtime_us=100)
            self.assert_ok(found, _HRTICK, name and 'timer')
            self.assertNotIn(_TICK, found)

    def test_hrtick_off(self):
        found = self.examine(kernels.F4,
                             {base.FEATURES: 'HRTICK NO_HRTICK_DL'},
                             min_runtime_us=100)
        self.assert_warns(found, _HRTICK, 'HRTICK is off', 'echo HRTICK_DL')
        self.assert_warns(found, _TICK, 'runtime (100)',
                          'only in the long run')

    def test_hrtick_off_on_the_first_patches(self):
        """The first patches have another file and refuse short runtimes."""
        other = '/sys/kernel/debug/sched_features'
        found = self.examine(kernels.F2, {other: 'NO_HRTICK'},
                             refused={base.FEATURES: 2}, min_runtime_us=100)
        self.assert_warns(found, _HRTICK, f'echo HRTICK > {other}')
        self.assert_warns(found, _TICK, 'refused on this host')

    def test_locked_down(self):
        found = self.examine(kernels.F4, refused={base.FEATURES: base.EPERM})
        self.assert_warns(found, _HRTICK, 'is not known', 'EPERM')
        self.assertIn(_TICK, found)

    def test_no_features(self):
        other = '/sys/kernel/debug/sched_features'
        found = self.examine(kernels.F4, refused={base.FEATURES: 2, other: 2})
        self.assert_warns(found, _HRTICK, 'is not there')

    def test_limits(self):
        found = self.examine(kernels.F2M, min_runtime_us=1)
        self.assert_warns(found, 'timing.min_runtime', 'is 1,', 'below 3')
        found = self.examine(kernels.F4, min_period_us=50)
        self.assert_warns(found, 'timing.min_period', 'is 50,', 'below 100')
        path = '/proc/sys/kernel/sched_deadline_period_min_us'
        self.assert_warns(self.examine(kernels.F4, {path: '2000'}),
                          'timing.min_period', 'below 2000')
        for files in (kernels.F1, kernels.F2):
            self.assertNotIn('timing.min_period',
                             self.examine(files, {path: '2000'}))
