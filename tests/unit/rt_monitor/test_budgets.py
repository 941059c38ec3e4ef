# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.budgets, for each kernel interface."""

import unittest
from unittest import mock

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import passive
from rt_monitor import budgets


class BudgetsTest(unittest.TestCase):

    def reason(self, interface):
        found = passive.Detection(
            interface=interface and mock.Mock(**{'name': interface}))
        if interface:
            found.interface.name = interface
        with mock.patch.object(passive, 'find', return_value=found):
            return budgets.why_not(host_files.Host())

    def test_each_interface(self):
        self.assertEqual('', self.reason(None))  # by SCHED_DEADLINE, if any
        for name in detect.installed():
            self.assertIn(f'the budgets of {name} in this kernel',
                          self.reason(name))
