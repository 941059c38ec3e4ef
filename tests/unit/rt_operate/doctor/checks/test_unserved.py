# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.unserved: guests that no audit could correct."""

from nova_rt.rules import labels
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor.checks import test_strangers as strangers
from tests.unit.rt_operate.doctor import kernels

_NAME = 'audit.unserved'
_MARK = f'<x:unserved xmlns:x="{labels.UNSERVED}"/>'


class UnservedTest(base.DoctorTest):

    def test_none(self):
        self.assert_ok(self.examine(
            kernels.F1, strangers.guest('qemu', 1, strangers.MARK)), _NAME)

    def test_some(self):
        found = self.examine(kernels.F1, strangers.guest('qemu', 1),
                             strangers.guest('qemu', 2, _MARK))
        self.assert_problem(found, _NAME, 'instance-00000002 (uuid-2).',
                            'in the log of nova-compute')
