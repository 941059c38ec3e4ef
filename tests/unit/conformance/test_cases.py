# SPDX-License-Identifier: Apache-2.0

"""nova_rt.conformance.cases: what goes wrong is an outcome."""

import types
import unittest

from nova_rt.conformance import cases
from nova_rt.conformance import outcome
from nova_rt import exception

Level = outcome.Level


def refuse(*arguments: object) -> None:
    raise exception.KernelError(interface='some', group='/a', reason='no')


def run(name: str, **does: object) -> outcome.Outcome:
    """A case on a stage that does this."""
    stage = types.SimpleNamespace(**{
        'clear': lambda: None, 'cpus': (0, 0), **does})
    return cases.run(name, stage, 0.02)


class RunTest(unittest.TestCase):

    def test_refused(self):
        for name in ('share', 're-use', 'release', 'shorter period'):
            found = run(name, group=refuse)
            self.assertEqual((name, Level.BROKEN), (found.case, found.level))
            self.assertIn('the kernel refused: ', found.observed)

    def test_what_should_be_refused(self):
        self.assertIs(Level.KEPT, run('small runtime', group=refuse).level)

    def test_not_cleared_away(self):
        found = run('small runtime', group=refuse, clear=refuse)
        self.assertIs(Level.BROKEN, found.level)
        self.assertIn('then it could not be cleared', found.observed)

    def test_one_pcpu(self):
        self.assertIs(Level.SKIPPED, run('migration').level)

    def test_overfull_is_taken(self):
        self.assertIs(Level.BROKEN, run(
            'overfull', group=lambda *arguments: None).level)
