# SPDX-License-Identifier: Apache-2.0

"""Tests that packages are listed and read, never unpacked."""

import os
import pathlib
import stat
import zipfile

import fixtures
from oslotest import base

from tacker_rt import exception
from tacker_rt import files
from tacker_rt.package import csar


class PackageTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.found = []

    def zip(self, *members):
        """A CSAR with members given by name or as (ZipInfo, content)."""
        path = self.folder / 'a.csar'
        with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
            for member in members:
                info, data = (member if isinstance(member, tuple)
                              else (member, member))
                archive.writestr(info, data)
        return str(path)

    def members(self, path):
        with csar.opened(path, self.found) as package:
            return package.members

    def problems(self):
        return [f'{one.key}: {one.rule}' for one in self.found]

    def read(self, path, member):
        with csar.opened(path, self.found) as package:
            return package.read(member, self.found)


class ArchiveTest(PackageTest):

    def test_members(self):
        path = self.zip('b', 'a/c', 'a/')
        self.assertEqual(('a/c', 'b'), self.members(path))
        self.assertEqual(b'a/c', self.read(path, 'a/c'))
        self.assertEqual([], self.found)

    def test_folder(self):
        path = self.zip('d/b.yaml', 'd/a.yml', 'd/c.txt', 'd/e/f.yaml')
        with csar.opened(path, self.found) as package:
            self.assertEqual(['d/a.yml', 'd/b.yaml'], package.in_folder('d'))
            self.assertEqual(path + '/d/b.yaml', package.name('d/b.yaml'))
            self.assertTrue(package.packed)

    def test_members_that_leave(self):
        names = ('../a', '/a', 'a/../../b', '..\\a', 'C:\\a')
        self.assertEqual(('ok',), self.members(self.zip('ok', *names)))
        self.assertEqual(
            [f'{name}: the name leads out of the package' for name in names],
            self.problems())

    def test_symbolic_link(self):
        info = zipfile.ZipInfo('link')
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        self.assertEqual((), self.members(self.zip((info, '/etc/passwd'))))
        self.assertEqual(['link: the file is a symbolic '
                          'link'], self.problems())

    def test_equal_names(self):
        with self.assertWarns(UserWarning):
            path = self.zip(('a', 'x'), ('a', 'y'))
        self.assertEqual(('a',), self.members(path))
        self.assertEqual(['a: the package has this file '
                          'twice'], self.problems())

    def test_bomb(self):
        path = self.zip(('a', b'\0' * (files.MAX_BYTES + 1)))
        self.assertLess(os.path.getsize(path), 20_000)
        self.assertIsNone(self.read(path, 'a'))
        self.assertEqual(
            [f'{path}/a: the file unpacks to more than 10000000 bytes; make '
             'the package again with a shorter file.'],
            list(map(str, self.found)))

    def test_too_many_members(self):
        path = self.zip(*map(str, range(csar.MAX_MEMBERS + 1)))
        error = self.assertRaises(exception.InvalidVnfd, self.members, path)
        self.assertIn('more than 10000 files', str(error))

    def test_damaged_member(self):
        path = pathlib.Path(self.zip(('a', os.urandom(1000))))
        data = bytearray(path.read_bytes())
        data[500] ^= 1
        path.write_bytes(data)
        self.assertIsNone(self.read(str(path), 'a'))
        self.assertIn('the file cannot be read (Bad '
                      'CRC-32', str(self.found[0]))

    def test_no_archive(self):
        path = self.folder / 'a.zip'
        for data in (b'', b'PK', b'x' * 100):
            path.write_bytes(data)
            error = self.assertRaises(exception.InvalidVnfd, self.members,
                                      str(path))
            self.assertEqual(
                f'{path}: this is not a CSAR (File is not a zip file); give '
                'a VNFD, the directory of a package, or a CSAR.', str(error))

    def test_no_file(self):
        error = self.assertRaises(exception.InvalidVnfd, self.members,
                                  str(self.folder / 'no'))
        self.assertIn('this is not a CSAR (No such file or directory)',
                      str(error))


class DirectoryTest(PackageTest):

    def test_members(self):
        (self.folder / 'Definitions').mkdir()
        (self.folder / 'Definitions' / 'a.yaml').write_text('x')
        path = str(self.folder)
        self.assertTrue(csar.is_package(path))
        self.assertEqual(('Definitions/a.yaml',), self.members(path))
        self.assertEqual(b'x', self.read(path, 'Definitions/a.yaml'))

    def test_no_package(self):
        self.assertFalse(csar.is_package(str(self.folder)))

    def test_links(self):
        (self.folder / 'out').symlink_to('/etc/passwd')
        (self.folder / 'within').symlink_to('file')
        (self.folder / 'file').write_text('x')
        (self.folder / 'broken').symlink_to('none')
        os.mkfifo(self.folder / 'pipe')
        self.assertEqual(('file', 'within'), self.members(str(self.folder)))
        self.assertEqual(['out: the link leads out of the package'],
                         self.problems())
