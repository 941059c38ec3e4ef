# SPDX-License-Identifier: Apache-2.0

"""nova_rt.doctor.checks.monitor: what can be seen of servers here."""

import pathlib
from unittest import mock

from nova_rt.monitor import objects
from tests.unit.doctor import base
from tests.unit.doctor import kernels

_BTF = {'/sys/kernel/btf/vmlinux': ''}
_HERE = pathlib.Path(__file__)


class MonitorTest(base.DoctorTest):

    def look(self, *files, compiled=_HERE):
        with mock.patch.object(objects, 'path', return_value=compiled):
            return self.examine(base.F1, *files)

    def test_scheduler(self):
        name = 'monitor.sched'
        self.assert_ok(self.look(_BTF), name, 'can watch')
        self.assert_ok(self.look(), name, 'CONFIG_DEBUG_INFO_BTF')
        self.assert_ok(self.look(_BTF, compiled=_HERE / 'nosuch'), name,
                       'not compiled')

    def test_budgets(self):
        name = 'monitor.budgets'
        self.assert_ok(self.look(_BTF), name, 'can tell when')
        self.assertNotIn(name, self.look())
        with mock.patch.object(objects, 'path', return_value=_HERE):
            self.assert_ok(self.examine(kernels.F4, _BTF), name, 'cannot tell')

    def test_power(self):
        name = 'monitor.power'
        self.assert_ok(self.look(), name, 'no meter')
        self.assert_ok(self.look({
            '/sys/class/powercap/intel-rapl/enabled': '1'}), name,
            'no meter')
        self.assert_ok(self.look({
            '/sys/class/powercap/intel-rapl:0/energy_uj': '1'}), name,
            '1 meter')
