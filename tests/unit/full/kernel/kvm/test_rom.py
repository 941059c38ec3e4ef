# SPDX-License-Identifier: Apache-2.0

"""The image of a guest begins where an x86 does."""

import pathlib
import shutil
import tempfile
import unittest

import ddt

from tests.full.kernel.kvm import rom

_RESET = 0xfff0
_FAR_JUMP = 0xea


@ddt.ddt
@unittest.skipUnless(shutil.which('gcc'), 'there is no gcc')
class AssembleTest(unittest.TestCase):

    @ddt.data(rom.BUSY, rom.KERNEL, rom.DEVICE,
              rom.Work('TIMER', 200_000, 10))
    def test_fits_below_one_mib_and_jumps_into_itself(self, work):
        with tempfile.TemporaryDirectory() as scratch:
            image = rom.assemble(work, pathlib.Path(scratch)).read_bytes()
        self.assertEqual(1 << 16, len(image))
        self.assertEqual(_FAR_JUMP, image[_RESET])
        self.assertEqual(b'\x00\xf0', image[_RESET + 3:_RESET + 5])

    def test_each_work_has_its_own_image(self):
        with tempfile.TemporaryDirectory() as scratch:
            images = {rom.assemble(work, pathlib.Path(scratch)).read_bytes()
                      for work in (rom.Work('TIMER', 1_000, 10),
                                   rom.Work('TIMER', 1_000, 20),
                                   rom.Work('TIMER', 2_000, 10))}
        self.assertEqual(3, len(images))
