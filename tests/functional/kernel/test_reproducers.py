# SPDX-License-Identifier: Apache-2.0

"""The reproducers for the authors of cpu.rt.max, on emulated kernels.

Those that need real tasks (trapped, counted, offline) are only parsed.
"""

import errno
import fractions
import pathlib
import subprocess
import unittest

import ddt

from tests.emulation import groups
from tests.emulation import mount
from tests.emulation import numbers
from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset

SCRIPTS = (pathlib.Path(__file__).parents[2]
           / 'full' / 'kernel' / 'reproducers')


class Published(rt_max_cpuset.Kernel):
    """Adds up what children have over all groups of one walk."""

    def write_rt(self, group: groups.Group, name: str, data: str, path: str
                 ) -> int | None:
        self._sums = [fractions.Fraction()] * self.columns
        return super().write_rt(group, name, data, path)

    def vet_children(self, group: groups.Group, changed: groups.Group,
                     new: groups.Budget, path: str) -> None:
        own = rt_max.after(group, changed, new)
        if own.runtimes[0] == rt_max.MAX:
            return
        for child in rt_max.nearest(group, changed, new):
            for cpu, pair in enumerate(rt_max.after(
                    child, changed, new).pairs()):
                self._sums[cpu] += rt_max_cpuset.share(*pair)
        for cpu, pair in enumerate(own.pairs()):
            if self._sums[cpu] > rt_max_cpuset.share(*pair):
                raise numbers.refusal(errno.EINVAL, path)


def _root(point: str) -> list[str]:
    """Returns the files of the root group that a script may change."""
    return [path.read_text() for name in ('cgroup.subtree_control',
                                          'cpu.rt.max')
            if (path := pathlib.Path(point, name)).exists()]


@ddt.ddt
class ReproducersTest(unittest.TestCase):
    """Each script finds what the emulation of that kernel does."""

    def reproduce(self, name: str, kernel: rt_max.Kernel) -> tuple[int, str]:
        reason = mount.why_not()
        if reason:
            self.skipTest(reason)
        with mount.mounted(kernel) as files:
            point, = (where for where, kind, _ in files.mounts()
                      if kind == 'cgroup2')
            before = _root(point)
            done = subprocess.run([SCRIPTS / f'{name}.sh', point],
                                  capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(before, _root(point))
        self.assertEqual('', done.stderr)
        self.assertEqual({}, {
            group: held for group, held in kernel.granted().items() if held})
        return done.returncode, done.stdout

    @ddt.data(*({'rootless': each} for each in (False, True)))
    def test_by_cpuset(self, options: dict[str, bool]) -> None:
        for name, status, words in (
                ('sums', 0, 'as it should be'),
                ('between', 1, 'defect: numbers are refused: the budget'),
                ('frozen', 1, 'defect: no cpuset can be changed'),
                ('toggled', 1, 'defect: the controller is off')):
            with self.subTest(name):
                found = self.reproduce(name, rt_max_cpuset.Kernel(**options))
                self.assertEqual(status, found[0], found[1])
                self.assertIn(words, found[1])

    def test_sums_as_they_were_published(self) -> None:
        self.assertEqual(
            (1, 'defect: a group on another CPU is refused\n'),
            self.reproduce('sums', Published()))

    def test_without_cpusets(self) -> None:
        for name in ('sums', 'toggled', 'between'):
            self.assertEqual(
                (2, 'cannot be tried: groups have no cpu.rt.max by cpuset\n'),
                self.reproduce(name, rt_max.Kernel()))

    def test_shell(self) -> None:
        for path in SCRIPTS.glob('*.sh'):
            subprocess.run(['sh', '-n', path], check=True)
