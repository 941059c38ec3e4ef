# SPDX-License-Identifier: Apache-2.0

"""The machine is given back as it was."""

import pathlib
import tempfile
import unittest

from tests.stack import shared


class SharedTest(unittest.TestCase):

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.settings = pathlib.Path(scratch.name, 'sys')
        self.groups = pathlib.Path(scratch.name, 'cgroup')
        for name in ('fs/file-max', 'kernel/core_pattern', 'vm/x',
                     'kernel/ns_last_pid', 'kernel/random/uuid'):
            path = self.settings / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('1\n')
        self.make('cpu/machine', 'cpu/other')
        self.shared = shared.Shared(self.settings, self.groups)

    def make(self, *names: str) -> None:
        for name in names:
            (self.groups / name).mkdir(parents=True)

    def test_settings(self):
        changed = self.settings / 'kernel/core_pattern'
        for path in (changed, self.settings / 'kernel/ns_last_pid',
                     self.settings / 'kernel/random/uuid'):
            path.write_text('2\n')
        self.shared.give_back()
        self.assertEqual('1\n', changed.read_text())
        # What the kernel counts.
        for name in ('ns_last_pid', 'random/uuid'):
            self.assertEqual(
                '2\n', (self.settings / 'kernel' / name).read_text())

    def test_groups(self):
        self.make('cpuset/machine', 'systemd/payload/init', 'supervisor',
                  'cpuset/theirs')
        self.shared.give_back()
        left = sorted(str(path.relative_to(self.groups))
                      for path in self.groups.glob('*/*'))
        self.assertEqual(['cpu/machine', 'cpu/other', 'cpuset/theirs'], left)
        self.assertFalse((self.groups / 'supervisor').exists())
