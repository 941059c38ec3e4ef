# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.host.timers."""

import unittest

from nova_rt.machine.host import timers

#: Of Linux 5.10.
SHOWN = """Timer List Version: v0.8
now at 6294962214 nsecs

cpu: 0
active timers:
 #0: <0000000052ea4f7e>, dl_task_timer, S:01
 # expires at 6966197866-6966197866 nsecs [in 671235652 to 671235652 nsecs]
 #1: <000000000c804c75>, tick_sched_timer, S:01
 # expires at 6315000000-6315000000 nsecs [in 20037786 to 20037786 nsecs]
 clock 1:
active timers:
 #0: <00000000c79deb47>, dl_task_timer, S:01
 # expires at 7071940909-7071940909 nsecs [in 776978695 to 776978695 nsecs]
"""


class TimersTest(unittest.TestCase):

    def test_those_of_the_deadline_class(self) -> None:
        self.assertEqual([6.966197866, 7.071940909],
                         timers.replenishments(SHOWN))

    def test_none(self) -> None:
        self.assertEqual([], timers.replenishments('now at 1 nsecs\n'))
