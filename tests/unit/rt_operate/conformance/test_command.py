# SPDX-License-Identifier: Apache-2.0

"""rt_operate.conformance.command: what comes before anything is tried."""

import contextlib
import io
import types
import unittest
from unittest import mock

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.rules import defaults
from nova_rt.rules import exception
from rt_operate.commands import main
from rt_operate.conformance import command


def run(*words: str) -> tuple[int, str]:
    """Exit status and standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        try:
            status = main.main(['conformance', *words])
        except SystemExit as error:
            status = int(str(error))
    return status, stderr.getvalue()


def interface(ppm: int = 950_000, held: str = '', replicated: bool = False
              ) -> types.SimpleNamespace:
    """An interface with only the methods that are called before a case."""
    return types.SimpleNamespace(
        name='some', replicated=replicated, prepare=lambda share: None,
        read=lambda group: group == held, capacity=lambda ours: base.Capacity(
            ppm, 0))


class ConsentTest(unittest.TestCase):

    def test_nothing_is_looked_at_without_it(self):
        with mock.patch.object(detect, 'detect') as looks:
            status, text = run()
        looks.assert_not_called()
        self.assertEqual(3, status)
        self.assertIn('--this-host-may-crash', text)
        self.assertIn('spare host', text)

    def test_tolerance(self):
        self.assertEqual(3, run('--tolerance', '2')[0])
        self.assertIn('--tolerance', run('--tolerance', 'x')[1])


class SpareTest(unittest.TestCase):

    def refused(self, sentence: str, **settings: object) -> None:
        with self.assertRaisesRegex(exception.KernelError, sentence):
            command._prepare(interface(**settings))

    def test_guests(self):
        self.refused('this host has guests', held='/machine')

    def test_no_room(self):
        self.refused('100000 ppm of each pCPU are free', ppm=100_000)
        self.refused('100000 ppm in all are free', ppm=100_000,
                     replicated=True)

    def test_spare(self):
        self.assertEqual(950_000, command._prepare(interface()))

    def test_asks_for_the_share_of_nova_compute(self):
        """The table of kernels then shows what a host sells."""
        asked: list[int] = []
        found = interface()
        found.prepare = asked.append
        command._prepare(found)
        self.assertEqual([round(defaults.CPU_CAP * 1_000_000)], asked)
