# SPDX-License-Identifier: Apache-2.0

"""rt_operate.conformance.cases: what goes wrong is an outcome."""

import types
import unittest
from unittest import mock

from nova_rt.rules import exception
from rt_operate.conformance import cases
from rt_operate.conformance import outcome

Level = outcome.Verdict


def refuse(*arguments: object) -> None:
    raise exception.KernelError(interface='some', group='/a', reason='no')


def run(name: str, **does: object) -> outcome.CaseOutcome:
    """Runs a case on a stage that behaves in this way."""
    stage = types.SimpleNamespace(**{
        'clear': lambda: None, 'cpus': (0, 0), 'known': {}, 'skipped': {},
        **does})
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
        self.assertIn('then its groups and processes could not be removed',
                      found.observed)

    def test_one_pcpu(self):
        self.assertIs(Level.SKIPPED, run('migration').level)

    def test_overfull_is_taken(self):
        for known, level in (({}, Level.BROKEN),
                             ({'overfull': 'by design'}, Level.KNOWN)):
            self.assertIs(level, run(
                'overfull', group=lambda *arguments: None,
                known=known).level)

    def test_not_for_this_stage(self):
        found = run('resize', skipped={'resize': 'why not'}, group=refuse)
        self.assertEqual((Level.SKIPPED, 'why not'),
                         (found.level, found.observed))

    def test_no_thread_that_reclaims(self):
        self.assertIs(Level.KEPT, run('reclaim', foreign=refuse).level)

    def test_a_thread_that_reclaims(self):
        """All bandwidth that may be reserved is in use; the shares decide."""
        sizes = {}
        shares = {30_000: 0.3}

        def group(name, runtime, period):
            sizes[name] = runtime
            return types.SimpleNamespace(pid=runtime)

        for lost, known, level in ((0, '', Level.KEPT),
                                   (0.1, '', Level.BROKEN),
                                   (0.1, 'why', Level.KNOWN)):
            with mock.patch.object(
                    cases, '_together', lambda processes: {
                        name: shares.get(each.pid, each.pid / 100_000 - lost)
                        for name, each in processes.items()}):
                found = run(
                    'reclaim', group=group, ppm=900_001,
                    foreign=lambda runtime, period: types.SimpleNamespace(
                        pid=runtime),
                    known={'reclaim': known} if known else {})
            self.assertIs(level, found.level)
            self.assertIn('the other thread got 0.3000', found.observed)
        self.assertEqual({'a': 40_000, 'b': 20_000}, sizes)
