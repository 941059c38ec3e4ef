# SPDX-License-Identifier: Apache-2.0

"""Tests which CPUs are threads of one core."""

import pathlib

import fixtures
from oslotest import base

from nova_rt.machine.host import siblings


class SiblingsTest(base.BaseTestCase):

    def cores(self, cpus, **lists):
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in lists.items():
            folder = root / name / 'topology'
            folder.mkdir(parents=True)
            (folder / 'thread_siblings_list').write_text(text)
        return siblings.cores(cpus, str(root))

    def test_threads_of_one_core(self):
        self.assertEqual((0, 1, 0), self.cores(
            (0, 1, 4), cpu0='0,4\n', cpu1='1,5\n', cpu4='0,4\n'))
        self.assertEqual((2, 2), self.cores((2, 3), cpu2='2-3', cpu3='2-3'))

    def test_a_cpu_that_the_kernel_tells_nothing_of(self):
        self.assertEqual((0, 7), self.cores((0, 7), cpu0='', cpu7='x'))
        self.assertEqual((3,), self.cores((3,)))
