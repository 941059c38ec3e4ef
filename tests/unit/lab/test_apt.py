# SPDX-License-Identifier: Apache-2.0

"""lab.apt: where packages come from, and which make up a kernel."""

import unittest

from lab import apt
from lab import programs

_TARGETS = """\
Translations|Debian|stable|http://mirror.example/debian/
Packages|Other|stable|http://other.example/
Packages|Debian|stable-updates|http://updates.example/debian/
Packages|Debian|stable|http://mirror.example/debian/
"""
_DEPENDS = """\
linux-image-amd64
  Depends: linux-image-7.3.4+deb13-amd64
linux-image-7.3.4+deb13-amd64
  PreDepends: linux-base
 |Depends: <initramfs-tools>
  Depends: linux-base-7.3.4+deb13-amd64
  Depends: linux-binary-7.3.4+deb13-amd64
  Depends: linux-modules-7.3.4+deb13-amd64
"""


class AptTest(unittest.TestCase):

    def test_mirror_is_the_one_with_a_whole_release(self):
        self.assertEqual('http://mirror.example/debian/',
                         apt.find_mirror(_TARGETS))

    def test_no_mirror(self):
        with self.assertRaisesRegex(programs.LabError, 'apt-get update'):
            apt.find_mirror('Packages|Other|stable|http://other.example/\n')

    def test_parts_of_a_kernel(self):
        self.assertEqual([f'linux-{part}-7.3.4+deb13-amd64' for part in (
            'base', 'binary', 'image', 'modules')],
            apt.kernel_parts(_DEPENDS))
