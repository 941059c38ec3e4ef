# SPDX-License-Identifier: Apache-2.0

"""operate.conformance.stage on files that stand in for control groups."""

from collections.abc import Mapping
import os
import pathlib
import tempfile
import unittest

from nova_rt.machine.kernel import base
from nova_rt.rules import exception
from rt_operate.conformance import stage


class Refusing:
    """An interface that reads groups but refuses every budget."""

    name = 'some'
    fixed_priorities = False

    def __init__(self, mount: pathlib.Path, binds_cpus: bool) -> None:
        self.binds_cpus = binds_cpus
        self.seen: dict[str, str] = {}
        self._mount = mount

    def reserve(self, budgets: Mapping[str, base.Budget]) -> None:
        for path in self._mount.rglob('cpuset.cpus'):
            self.seen[str(path.relative_to(self._mount))] = path.read_text()
        raise exception.KernelError(interface='some', group='/', reason='no')


class StageTest(unittest.TestCase):

    def reserve(self, binds_cpus: bool) -> tuple[Refusing, pathlib.Path]:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        mount = pathlib.Path(directory.name)
        (mount / 'cgroup.subtree_control').write_text('memory')
        one = min(os.sched_getaffinity(0))
        found = Refusing(mount, binds_cpus)
        acted = stage.GroupStage(found, directory.name, (one, one), 950_000)
        with self.assertRaises(exception.KernelError):
            acted.group('a', 40_000, 100_000)
        acted._busy['a'][0].end()
        return found, mount

    def test_a_group_is_bound_before_it_gets_a_budget(self):
        found, mount = self.reserve(binds_cpus=True)
        one = min(os.sched_getaffinity(0))
        self.assertEqual({f'{stage.TOP}/a/cpuset.cpus': f'{one}\n'},
                         found.seen)
        self.assertEqual('+cpu +cpuset\n', (
            mount / 'cgroup.subtree_control').read_text())

    def test_others_stay_unbound(self):
        found, mount = self.reserve(binds_cpus=False)
        self.assertEqual({}, found.seen)
        self.assertEqual('+cpu\n', (
            mount / 'cgroup.subtree_control').read_text())
