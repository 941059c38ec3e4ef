# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.hardware: what a microsecond of a pCPU is worth."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_CPU = '/sys/devices/system/cpu'


def governors(*names):
    return {f'{_CPU}/cpu{cpu}/cpufreq/scaling_governor': name
            for cpu, name in enumerate(names)}


class HardwareTest(base.DoctorTest):

    def test_siblings_as_ranges(self):
        """A host of 128 pCPUs has ranges of siblings, too."""
        files = {f'{_CPU}/smt/active': '1', f'{_CPU}/online': '0-127'}
        for cpu in range(128):
            first = cpu % 64
            files[f'{_CPU}/cpu{cpu}/topology/thread_siblings_list'] = (
                f'{first},{first + 64}')
        self.assert_warns(self.examine(base.F1, files),
                          'hardware.smt', '(pCPUs 0-63 with 64-127 share')

    def test_smt(self):
        path = f'{_CPU}/smt/active'
        for value, word in (('0', 'off'), ('', 'not report SMT')):
            self.assert_ok(self.examine(base.F1, {path: value}),
                           'hardware.smt', word)
        self.assert_warns(self.examine(base.F1, {path: '1'}),
                          'hardware.smt', 'hardware thread')

    def test_governor(self):
        name = 'hardware.governor'
        self.assert_ok(self.examine(base.F1), name, 'does not scale')
        self.assert_ok(self.examine(
            base.F1, governors('performance', 'performance')), name, 'full')
        self.assert_warns(self.examine(
            base.F1, governors('performance', 'powersave')), name,
            '(powersave on 1)')

    def test_turbo(self):
        name = 'hardware.turbo'
        self.assertNotIn(name, self.examine(base.F1))
        for path, yes, no in ((f'{_CPU}/intel_pstate/no_turbo', '0', '1'),
                              (f'{_CPU}/cpufreq/boost', '1', '0')):
            self.assert_warns(self.examine(base.F1, {path: yes}), name,
                              f'echo {no} > {path}')
            self.assert_ok(self.examine(base.F1, {path: no}), name, 'off')

    def test_offline(self):
        name = 'hardware.offline'
        self.assertNotIn(name, self.examine(base.F1))
        self.assert_ok(self.examine(base.F1, {f'{_CPU}/present': '0-3'}),
                       name, '2-3')

    def test_offline_where_budgets_are_bound_to_pcpus(self):
        name = 'hardware.offline'
        self.assert_ok(self.examine(kernels.F5), name, 'Keep all pCPUs online')
        self.assert_warns(
            self.examine(kernels.F5, {f'{_CPU}/present': '0-3'}), name,
            'Offline: pCPUs 2-3.', 'restart nova-compute')

    def test_garbage(self):
        found = self.examine(base.F1, {f'{_CPU}/online': '0-x'})
        self.assert_problem(found, 'hardware.governor', "'0-x'",
                            'not a list')
