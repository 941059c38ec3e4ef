# SPDX-License-Identifier: Apache-2.0

"""The verdict on a long run on a real kernel."""

import collections
import dataclasses
import json
import unittest

from tests.full.kernel import summary

_GOOD = summary.Summary(
    kernel='5.10', interface='hcbs', seed=1, operations=2000, seconds=900.0,
    kinds=collections.Counter(start=2000),
    off=(0.001, -0.004), wrong=(), released=True,
    complaints=('WARNING: CPU: 0 at task_contending',))
_LOG = """\
6,100,0,-;Linux version 5.10
4,101,2,-;WARNING: CPU: 0 PID: 7 at task_contending+0x100/0x140
 SUBSYSTEM=none
4,102,3,-;WARNING: CPU: 0 PID: 7 at task_contending+0x100/0x140
2,103,4,-;kernel BUG at kernel/sched/deadline.c:899!
"""


class SummaryTest(unittest.TestCase):

    def test_good(self) -> None:
        self.assertEqual(0.004, _GOOD.worst)
        self.assertEqual([], _GOOD.faults(2000, 0.005))

    def test_each_fault(self) -> None:
        for change, expected in (
                ({'operations': 1999}, '1999 of 2000 operations were done'),
                ({'off': (-0.006,)}, 'a share is off by 0.0060, more than '
                                     '0.005'),
                ({'off': ()}, 'no share was measured'),
                ({'released': False}, 'the kernel holds budgets at the end'),
                ({'wrong': ('a does not hold 10/20',)},
                 'a does not hold 10/20'),
                ({'complaints': ('kernel BUG at x.c:1!',)},
                 'kernel BUG at x.c:1!')):
            with self.subTest(expected):
                found = dataclasses.replace(_GOOD, **change)
                self.assertEqual([expected], found.faults(2000, 0.005))

    def test_no_share_was_to_be_measured(self) -> None:
        self.assertEqual([], dataclasses.replace(
            _GOOD, off=()).faults(2000, None))

    def test_as_json(self) -> None:
        found = json.loads(_GOOD.as_json())
        self.assertEqual((2, 0.004, True, 2000), (
            found['off'], found['worst'], found['released'],
            found['operations']))
        self.assertEqual('2000 operations, 0 wrong, 2 shares within 0.0040',
                         found['sentence'])

    def test_complaints(self) -> None:
        self.assertEqual(
            ['WARNING: CPU: 0 PID: 7 at task_contending+0x100/0x140',
             'kernel BUG at kernel/sched/deadline.c:899!'],
            summary.complaints(_LOG))
