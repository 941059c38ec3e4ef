# SPDX-License-Identifier: Apache-2.0

"""tests.full.kernel.soak: what must fit, and tasks that do not end."""

import types
import unittest
from unittest import mock

from nova_rt.machine.kernel import base
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import soak


class UsedTest(unittest.TestCase):

    def used(self, cpu: int, replicated: bool) -> int:
        held = base.Budget(dict.fromkeys(
            range(2) if replicated else (1,), 20_000), 100_000)
        run = mock.Mock(
            interface=mock.Mock(replicated=replicated, read=lambda _: held),
            left=[mock.Mock()], claims={
                mock.Mock(): hosts.claim(30_000, 100_000, 0),
                mock.Mock(): hosts.claim(10_000, 100_000, 1)})
        return soak.Soak._used(run, mock.Mock(), cpu)

    def test_each_pcpu(self) -> None:
        self.assertEqual((300_000, 300_000), (
            self.used(0, False), self.used(1, False)))

    def test_all_pcpus(self) -> None:
        self.assertEqual(600_000, self.used(0, True))


class StartTest(unittest.TestCase):

    def test_each_operation_can_be_called(self) -> None:
        """No attribute hides an operation."""
        with mock.patch.object(soak.guests, 'Guests'), \
                mock.patch.object(soak.Soak, 'restart'):
            run = soak.Soak(seed=1, measured=1, most=3)
        for kind in run.weights:
            with self.subTest(kind):
                self.assertTrue(callable(getattr(run, f'_{kind}')))


class TasksTest(unittest.TestCase):

    def test_a_task_that_does_not_end_is_counted(self) -> None:
        run = types.SimpleNamespace(
            chosen=mock.Mock(choices=lambda _, weights: ['end']),
            weights={'end': 1}, counts={'end': 0}, tell=mock.Mock(),
            _end=mock.Mock(side_effect=TimeoutError('1 in state R')),
            claims={}, wrong=[])
        run.chosen.choice = min
        soak.Soak.step(run)  # type: ignore[arg-type]
        self.assertEqual(['end: 1 in state R'], run.wrong)

    def test_a_task_that_does_not_end_at_the_end(self) -> None:
        guest = mock.Mock(spec=guests.Guest)
        guest.remove.side_effect = TimeoutError('1 in state R')
        run = mock.Mock(claims={}, free=[guest], left=[], wrong=[])
        soak.Soak.finish(run)
        self.assertIn('at the end: 1 in state R', run.wrong)
