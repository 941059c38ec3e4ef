# SPDX-License-Identifier: Apache-2.0

"""lab.kernels: images by their path."""

import pathlib
import struct
import tempfile
import unittest

from lab import kernels
from lab import programs


def bzimage(release: str) -> bytes:
    """Returns the part of an image that names its release."""
    header = bytearray(0x400)
    header[0x202:0x206] = b'HdrS'
    struct.pack_into('<H', header, 0x20e, 0x100)
    text = f'{release} (someone@somewhere) #1 SMP\0'.encode()
    header[0x300:0x300 + len(text)] = text
    return bytes(header)


class KernelsTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.image = self.directory / 'bzImage'
        self.image.write_bytes(bzimage('6.1.0-x+y'))

    def find(self, name, modules=None):
        return kernels.find(str(name), self.directory, modules)

    def test_release(self):
        found = self.find(self.image)
        self.assertEqual(('6.1.0-x+y', self.image, None),
                         (found.release, found.image, found.modules))

    def test_no_image(self):
        for content in (b'', b'\x7fELF', b'\0' * 4096):
            self.image.write_bytes(content)
            with self.assertRaisesRegex(programs.LabError, 'bzImage'):
                self.find(self.image)

    def test_no_file(self):
        for name in (self.directory, self.directory / 'none'):
            with self.assertRaisesRegex(programs.LabError, 'is not a kernel'):
                self.find(name)

    def test_unknown_debian(self):
        with self.assertRaisesRegex(programs.LabError, 'debian:11 is not one'):
            self.find('debian:11')

    def test_modules_without_an_index(self):
        with self.assertRaisesRegex(programs.LabError, 'modules.dep'):
            self.find(self.image, self.directory)
        (self.directory / 'modules.dep').touch()
        self.assertEqual(self.directory,
                         self.find(self.image, self.directory).modules)

    def test_a_kernel_without_kvm(self):
        (self.directory / 'modules.dep').touch()
        found = self.find(self.image, self.directory)
        with self.assertRaisesRegex(
                programs.LabError, 'has no module kvm-amd.ko.* CONFIG_KVM'):
            found.require_kvm()
        (self.directory / 'kvm-amd.ko.xz').touch()
        found.require_kvm()

    def test_a_kernel_without_modules_may_have_it_built_in(self):
        self.find(self.image).require_kvm()

    def test_real_time_kernels_of_debian_are_other_packages(self):
        for name, (suite, package) in kernels.DEBIAN.items():
            self.assertEqual(name.endswith('-rt'), '-rt-' in package, name)
            self.assertTrue(suite)
