# SPDX-License-Identifier: Apache-2.0

"""The verdict of tests.full.kernel.interrupts on what was measured."""

from typing import Any
import unittest

from tests.full.kernel import interrupts


def told(before: str = 'problem', after: str = 'OK') -> dict[str, Any]:
    """The findings of the doctor before and after its advice."""
    names = ('interrupts.threads', 'interrupts.default')
    return {when: {name: {'level': level} for name in names}
            for when, level in (('before', before), ('after', after))}


class VerdictTest(unittest.TestCase):

    def wrong(self, wait: float, **findings: str) -> list[str]:
        """Returns the faults after a wait of *wait* ms for a vCPU of 0.9."""
        return interrupts.faults(told(**findings), {
            '0.9, advice followed': {'mean wait': wait}})

    def test_short_wait(self):
        self.assertEqual([], self.wrong(0.0999))

    def test_long_wait(self):
        """The length of the wait beside an ordinary task does not matter."""
        text, = self.wrong(0.154)
        self.assertIn('0.154 ms', text)

    def test_doctor_reports_no_problem(self):
        self.assertEqual(2, len(self.wrong(0.0, before='OK')))

    def test_advice_does_not_help(self):
        self.assertEqual(2, len(self.wrong(0.0, after='problem')))
