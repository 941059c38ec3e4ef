# SPDX-License-Identifier: Apache-2.0

"""lab.image: the disk is made from a Debian that projects share."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from lab import image

#: Stand-ins for the two programs that take minutes.
_PROGRAMS = {
    'mmdebstrap': 'echo made >> "$MADE"\n'
                  'for word; do case $word in /*.tar) tar -cf "$word" -T '
                  '/dev/null; esac; done\n',
    'mke2fs': 'while [ $# -gt 2 ]; do shift; done; touch "$1"\n'}


@unittest.skipIf(os.geteuid(), 'only root can make the disk')
class FindTest(unittest.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.scratch = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        self.cache, self.made, programs = (
            self.scratch / name for name in ('cache', 'made', 'programs'))
        self.cache.mkdir()
        programs.mkdir()
        for name, body in _PROGRAMS.items():
            (programs / name).write_text(f'#!/bin/sh -e\n{body}')
            (programs / name).chmod(0o755)
        self.enterContext(mock.patch.dict(
            os.environ, PATH=f'{programs}:{os.environ["PATH"]}',
            MADE=str(self.made)))

    def find(self, project: str, installed: str) -> pathlib.Path:
        """Returns the disk of a project with these packages in .venv."""
        stamp = self.scratch / project / '.venv/.setup-done'
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(installed)
        with mock.patch.multiple(image, PROJECT=stamp.parents[1],
                                 STAMP=stamp):
            return image.find(self.cache)

    def test_other_packages_of_python_need_no_other_debian(self) -> None:
        first = self.find('one', 'old')
        self.assertEqual(first, self.find('one', 'old'))
        second = self.find('one', 'new')
        self.assertTrue(second.is_file())
        self.assertFalse(first.exists())
        self.assertNotEqual(second, self.find('other', 'new'))
        self.assertEqual('made\n', self.made.read_text())

    def test_other_packages_of_debian(self) -> None:
        self.find('one', 'old')
        with mock.patch.object(image, 'PACKAGES', ('mount',)):
            self.find('one', 'new')
        self.assertEqual('made\n' * 2, self.made.read_text())
        self.assertEqual(1, len(list(self.cache.glob('*.tar'))))
