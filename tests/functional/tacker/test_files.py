# SPDX-License-Identifier: Apache-2.0

"""Packages with a file taken out: validate refuses what Tacker refuses."""

import pathlib
import tempfile
import unittest

import yaml

from tacker_rt.package import pack
from tacker_rt import validate
from tests.functional.tacker import layers
from tests.functional.tacker import samples

#: Files that Heat and user data need, which Tacker does not look for.
_LATER = 'BaseHOT/'


class FilesTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        self.cases = []

    def add(self, members):
        csar = self.folder / f'{len(self.cases)}.csar'
        pack.write(members, csar)
        self.cases.append({'name': str(len(self.cases)), 'csar': str(csar),
                           'directory': str(self.folder)})

    def compare(self, names):
        """Returns the names of the files whose absence Tacker refuses."""
        answers = layers.run('takes_in', self.cases)
        refused = []
        for name, case, refusal in zip(names, self.cases, answers,
                                       strict=True):
            found = list(map(str, validate.validate(case['csar'])))
            with self.subTest(name):
                if name.startswith(_LATER):
                    self.assertIsNone(refusal)
                else:
                    self.assertEqual(bool(refusal), bool(found),
                                     [refusal, found])
            if refusal:
                refused.append(name)
        return refused

    def test_every_file_of_a_package(self):
        members = self.package()
        for name in members:
            self.add({other: content for other, content in members.items()
                      if other != name})
        self.add(members)
        names = [*members, 'nothing']
        refused = self.compare(names)
        self.assertLessEqual({'Files/a.bin', 'Scripts/a.sh',
                              'Definitions/vnfd.yaml'}, set(refused))
        self.assertNotIn('nothing', refused)

    def test_empty_keys(self):
        members = self.package()
        path = 'Definitions/vnfd.yaml'
        names = ('artifacts', 'interfaces')
        for key in names:
            vnfd = yaml.safe_load(members[path])
            vnfd['topology_template']['node_templates']['VDU1'][key] = None
            self.add({**members, path: yaml.safe_dump(vnfd).encode()})
        self.assertIn('artifacts', self.compare(names))

    def package(self):
        """One with an artifact of a VDU and a script of the VNF."""
        members = pack.directory(samples.SAMPLES / 'sol001-hints/package')
        path = 'Definitions/vnfd.yaml'
        vnfd = yaml.safe_load(members[path].read_text())
        nodes = vnfd['topology_template']['node_templates']
        nodes['VDU1']['artifacts'] = {'a': {
            'type': 'tosca.artifacts.Implementation.Bash',
            'file': '../Files/a.bin'}}
        nodes['VNF']['interfaces'] = {'Vnflcm': {
            'instantiate_start': {'implementation': '../Scripts/a.sh'}}}
        return {**members, path: yaml.safe_dump(vnfd).encode(),
                'Files/a.bin': b'a', 'Scripts/a.sh': b'a'}
