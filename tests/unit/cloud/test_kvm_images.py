# SPDX-License-Identifier: Apache-2.0

"""cloud.kvm_images: a kernel that QEMU's loader takes."""

import pathlib
import shutil
import struct
import tempfile
import unittest

from cloud import kvm_images

_SECTOR = 512


@unittest.skipUnless(shutil.which('gcc'), 'there is no gcc')
class BuildTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.kernel = kvm_images.build(
            pathlib.Path(directory.name)).read_bytes()

    def test_is_a_bzimage(self):
        self.assertEqual(b'HdrS', self.kernel[0x202:0x206])
        self.assertEqual(b'\x55\xaa', self.kernel[0x1fe:0x200])

    def test_real_mode_part_is_all_there_and_a_kernel_follows(self):
        sectors = self.kernel[0x1f1]
        self.assertGreater(len(self.kernel), (1 + sectors) * _SECTOR)

    def test_takes_no_newer_protocol_than_it_has_fields_for(self):
        version, = struct.unpack_from('<H', self.kernel, 0x206)
        self.assertEqual(0x202, version)


class ImagesTest(unittest.TestCase):

    def test_only_what_idles_is_told_to(self):
        self.assertEqual({'guest=idle', 'guest=busy', 'guest=hostile'},
                         set(kvm_images.COMMAND_LINES.values()))
