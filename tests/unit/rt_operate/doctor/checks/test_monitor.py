# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.monitor: what can be seen of servers here."""

import pathlib
from unittest import mock

from rt_monitor import objects
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_BTF = {'/sys/kernel/btf/vmlinux': ''}
_RELEASE = '/proc/sys/kernel/osrelease'
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
                       'built without its eBPF programs (NOVA_RT_WITHOUT_BPF)')
        self.assert_ok(self.look(_BTF, {_RELEASE: '5.10.218-hcbs+'}), name,
                       'needs Linux 5.13')

    def test_budgets(self):
        name = 'monitor.budgets'
        self.assert_ok(self.look(_BTF), name, 'can see when')
        self.assertNotIn(name, self.look())
        with mock.patch.object(objects, 'path', return_value=_HERE):
            self.assert_ok(self.examine(kernels.F4, _BTF), name, 'rt_max')

    def test_packets(self):
        name = 'monitor.packets'
        self.assertNotIn(name, self.look())
        for release, words in (('6.6.1-amd64\n', 'can see'),
                               ('7.0', 'can see'), ('6.1.0-50', 'Linux 6.6')):
            self.assert_ok(self.look(_BTF, {_RELEASE: release}), name, words)
        self.assertNotIn(name, self.look(_BTF, {_RELEASE: 'x'}))

    def test_counters(self):
        name, folder = 'monitor.counters', '/sys/bus/event_source/devices'
        self.assert_ok(self.look(), name, 'no counters')
        self.assert_ok(self.look({f'{folder}/msr/type': '9'}), name,
                       'no counters')
        for kind in ('cpu', 'cpu_core', 'armv8_pmuv3_0'):
            self.assert_ok(self.look({f'{folder}/{kind}/type': '4'}), name,
                           'The CPUs count')

    def test_power(self):
        name = 'monitor.power'
        self.assert_ok(self.look(), name, 'no energy meter')
        self.assert_ok(self.look({
            '/sys/class/powercap/intel-rapl/enabled': '1'}), name,
            'no energy meter')
        self.assert_ok(self.look({
            '/sys/class/powercap/intel-rapl:0/energy_uj': '1'}), name,
            '1 energy meter')
