# SPDX-License-Identifier: Apache-2.0

"""Tests artifacts and their hashes, in what lists them."""

import contextlib
import hashlib
import pathlib

import ddt
import fixtures
from oslotest import base

from tacker_rt.package import artifacts
from tacker_rt.package import csar
from tacker_rt.package import metadata
from tacker_rt import problem

_GOOD = hashlib.sha256(b'x').hexdigest()


@ddt.ddt
class ArtifactsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / 'Scripts').mkdir()
        (self.folder / 'Scripts' / 'a.py').write_text('x')

    @contextlib.contextmanager
    def package(self, found):
        with csar.opened(str(self.folder), found) as package:
            yield package

    def problems(self, *lines):
        found = []
        with self.package(found) as package:
            artifacts.check(package, problem.Place(found, 'f'),
                            'a: b\n\n' + '\n'.join(lines) + '\n\nc: d\n')
        return [str(one).removeprefix('f: ') for one in found]

    def artifact(self, source='Scripts/a.py', algorithm='SHA-256',
                 hash=_GOOD):
        return (f'Source: {source}', f'Algorithm: {algorithm}',
                f'Hash: {hash}')

    @ddt.data({}, {'source': 'Files/none.img', 'hash': 'x'},
              {'source': 'https://a.example/b'},
              {'algorithm': 'sha-512',
               'hash': hashlib.sha512(b'x').hexdigest()})
    def test_right(self, changes):
        """Images, and artifacts at an address, are not read."""
        self.assertEqual([], self.problems(*self.artifact(**changes)))

    def test_the_name_in_a_manifest(self):
        self.assertEqual([], self.problems(
            'Name: Scripts/a.py', 'Content-Type: text/plain',
            *self.artifact()[1:]))

    @ddt.data(
        ({'hash': '00'}, "Hash='00': Scripts/a.py has another hash; write "
         f'{_GOOD}.'),
        ({'algorithm': 'md5'}, "Algorithm='md5': Tacker does not know this "
         "algorithm; "
         'use sha-224 or sha-256 or sha-384 or sha-512.'),
        ({'source': '../a.py'}, "Source='../a.py': the package has no such "
         "fil"
         'e; remove the artifact, or add the file.'),
        ({'hash': ''}, 'Hash: an artifact lacks this key; give Source, '
         'Algorithm and Hash for each artifact.'))
    @ddt.unpack
    def test_wrong(self, changes, text):
        self.assertEqual([text], self.problems(*self.artifact(**changes)))

    def test_no_source(self):
        self.assertIn('Source: an artifact lacks this key',
                      self.problems(*self.artifact()[1:])[0])

    def test_no_mapping(self):
        self.assertEqual(['an artifact does not consist of lines KEY: VALUE; '
                          'correct these lines.'],
                         self.problems('Hash: [', 'x'))

    def test_all_of_a_long_file_is_read(self):
        data = b'y' * 200_000
        (self.folder / 'Scripts' / 'a.py').write_bytes(data)
        self.assertEqual([], self.problems(
            *self.artifact(hash=hashlib.sha256(data).hexdigest())))

    def test_manifest(self):
        meta = self.folder / csar.META
        meta.parent.mkdir()
        (self.folder / 'a.mf').write_text('\n'.join(
            self.artifact(hash='00')))
        for name, text in (('a.mf', f'{self.folder}/a.mf: Hash='),
                           ('Scripts/a.py', 'must end in .mf')):
            meta.write_text(f'Entry-Definitions: a.mf\n'
                            f'ETSI-Entry-Manifest: {name}\n')
            found = []
            with self.package(found) as package:
                metadata.check(package, found)
            self.assertEqual(1, len(found))
            self.assertIn(text, str(found[0]))
