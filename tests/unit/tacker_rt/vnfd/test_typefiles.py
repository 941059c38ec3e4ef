# SPDX-License-Identifier: Apache-2.0

"""Tests which files a VNFD may name, and what they may be."""

import json
import os
import pathlib

import ddt
import fixtures
from oslotest import base

from tacker_rt import exception
from tacker_rt.vnfd import typefiles

_VERSION = 'tosca_definitions_version: tosca_simple_yaml_1_2\n'


@ddt.ddt
class CollectTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.top = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.folder = self.top / 'vnf'
        self.folder.mkdir()
        self.write('types.yaml')

    def write(self, name, *imports):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_VERSION + (f'imports: {json.dumps(imports)}\n'
                                    if imports else ''))
        return path

    def collect(self):
        return typefiles.collect(self.folder, 'vnfd.yaml')

    def test_names_are_those_below_the_folder(self):
        self.write('vnfd.yaml', 'a/./b.yaml', 'types.yaml')
        self.write('a/b.yaml', '../types.yaml', 'c/d.yaml',
                   typefiles.POLICIES)
        self.write('a/c/d.yaml')
        self.assertEqual(
            {'vnfd.yaml': self.folder / 'vnfd.yaml',
             'types.yaml': self.folder / 'types.yaml',
             'a/b.yaml': self.folder / 'a/b.yaml',
             'a/c/d.yaml': self.folder / 'a/c/d.yaml',
             f'a/{typefiles.POLICIES}': typefiles.OURS / typefiles.POLICIES},
            self.collect())

    @ddt.data('../out.yaml', 'a/../../out.yaml', '/out.yaml', '//out.yaml',
              '..', '.', 'a\\..\\..\\out.yaml')
    def test_names_that_lead_out(self, name):
        (self.top / 'out.yaml').write_text(_VERSION)
        self.write('vnfd.yaml', name)
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertEqual(
            f'vnfd.yaml: imports={name!r}: the path leads out of the folder '
            'of the VNFD; give a path below this folder.', str(error))

    def test_an_absolute_name(self):
        """An absolute name is refused even if the file exists."""
        self.write('vnfd.yaml', str(self.folder / 'types.yaml'))
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertIn('the path leads out of the folder', str(error))

    def test_a_link_that_leads_out(self):
        (self.top / 'out.yaml').write_text(_VERSION)
        (self.folder / 'link.yaml').symlink_to('../out.yaml')
        self.write('vnfd.yaml', 'link.yaml')
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertIn('the path leads out of the folder', str(error))

    @ddt.data('http://127.0.0.1:9/a.yaml', 'file:/etc/hostname',
              'file:types.yaml', 'FILE:types.yaml')
    def test_addresses(self, name):
        """An address is refused even if a file has this name."""
        self.write(name)
        self.write('vnfd.yaml', name)
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertEqual(
            f'vnfd.yaml: imports={name!r}: this is an address, and tacker-rt '
            'fetches nothing; put a copy of the file next to the '
            'VNFD.', str(error))

    def test_a_file_of_a_repository(self):
        self.write('vnfd.yaml')
        with open(self.folder / 'vnfd.yaml', 'a') as stream:
            stream.write('repositories: {r: {url: "http://127.0.0.1:9"}}\n'
                         'imports: [{x: {file: types.yaml, repository: r}}]')
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertIn('this is an address, and tacker-rt fetches '
                      'nothing', str(error))

    @ddt.data('{/etc/hostname: x}', 'types.yaml', '[[a]]', '[5]',
              '[{x: {file: [a]}}]')
    def test_imports_that_are_no_list_of_files(self, imports):
        """tosca-parser would take the keys of a mapping for names."""
        path = self.write('vnfd.yaml')
        path.write_text(f'{_VERSION}imports: {imports}\n')
        error = self.assertRaises(exception.InvalidVnfd, self.collect)
        self.assertIn('imports must be a list of files; write - FILE',
                      str(error))


class LoadTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                                 'a.yaml')

    def refused(self, text):
        error = self.assertRaises(exception.InvalidVnfd, typefiles.load,
                                  self.path)
        self.assertEqual(f'a.yaml: {text}', str(error))

    def test_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.path)
        self.refused('this is not a regular file; give the path of a file.')

    def test_a_device_has_no_end(self):
        self.path.symlink_to('/dev/zero')
        self.refused('this is not a regular file; give the path of a file.')

    def test_a_long_file(self):
        with open(self.path, 'wb') as stream:
            stream.truncate(10_000_001)
        self.refused('the file has more than 10000000 bytes; give a shorter '
                     'file.')
