# SPDX-License-Identifier: Apache-2.0

"""Tests files that node templates name, as Tacker has it.

tests/functional/tacker compares packages with Tacker's own answer.
"""

import io

from oslotest import base

from tacker_rt.package import csar
from tacker_rt.package import references

_MEMBER = 'Definitions/vnfd.yaml'


class ReferencesTest(base.BaseTestCase):

    def problems(self, *nodes, members=('Files/a', 'Scripts/b.sh')):
        package = csar.Package('p', True, members, lambda _: io.BytesIO())
        found = []
        references.check(package, _MEMBER, {'topology_template': {
            'node_templates': {f'n{number}': node for number, node
                               in enumerate(nodes)}}}, found)
        return [str(one).removeprefix(f'p/{_MEMBER}: ') for one in found]

    def interface(self, operation):
        return {'interfaces': {'Vnflcm': {'heal_start': operation}}}

    def test_what_is_there(self):
        self.assertEqual([], self.problems(
            {'artifacts': {'a': '../Files/a', 'b': {'file': '../Files/a'},
                           'c': {'type': 'no file'}}},
            self.interface('../Scripts/b.sh'),
            self.interface({'implementation': '../Scripts/b.sh'}),
            self.interface({'implementation': {
                'primary': '../Scripts/b.sh', 'dependencies': ['x']}}),
            self.interface([]), self.interface(None),
            {'artifacts': {'a': 'https://example.org/a',
                           'b': {'file': 'file:///a'}}},
            {'type': 'x', 'artifacts': {}}, 'no mapping'))

    def test_what_is_not(self):
        rule = ('the package has no such file; add the file, or remove this '
                'key.')
        for node, key in (
                ({'artifacts': {'a': '../x'}}, 'artifacts.a'),
                ({'artifacts': {'a': {'file': '../x'}}}, 'artifacts.a.file'),
                (self.interface('../x'), 'interfaces.Vnflcm.heal_start'),
                (self.interface({'implementation': '../x'}),
                 'interfaces.Vnflcm.heal_start'),
                (self.interface({'implementation': {'primary': '../x'}}),
                 'interfaces.Vnflcm.heal_start'),
                (self.interface({'implementation': {'dependencies': '../x'}}),
                 'interfaces.Vnflcm.heal_start')):
            self.assertEqual([f"n0.{key}='../x': {rule}"],
                             self.problems(node))
        for name in ('../../Files/a', '/Files/a', 'Files/a', 'http:/x', '',
                     '[http://'):
            self.assertEqual(
                [f"n0.artifacts.a='{name}': {rule}"],
                self.problems({'artifacts': {'a': name}}), name)

    def test_empty_keys(self):
        rule = ('the value must be a mapping; remove the key, or indent the '
                'keys of the mapping below its name.')
        self.assertEqual([f'n0.artifacts=None: {rule}'],
                         self.problems({'artifacts': None}))
        self.assertEqual([f"n0.interfaces.Vnflcm=None: {rule}"],
                         self.problems({'interfaces': {'Vnflcm': None}}))

    def test_odd_values(self):
        self.assertEqual(
            ['n0.artifacts.a=3: an artifact must be the name of a file, or a '
             'mapping with the key file; write the key file: NAME '
             'below its name.'],
            self.problems({'artifacts': {'a': 3}}))
        self.assertEqual(
            ["n0.interfaces.Vnflcm.heal_start=['x']: the value must be the "
             "name of "
             'one file; write the name as a string.'],
            self.problems(self.interface({'implementation': ['x']})))

    def test_an_operation_that_names_an_artifact(self):
        """Tacker then looks for no file at all."""
        artifact = {'artifacts': {'a': '../x'}}
        self.assertEqual([], self.problems(artifact, self.interface('a')))
        self.assertEqual(2, len(self.problems(self.interface('a'),
                                              artifact)))
