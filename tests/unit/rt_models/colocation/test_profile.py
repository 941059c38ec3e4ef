# SPDX-License-Identifier: Apache-2.0

"""The files that say how to start a network function."""

import pathlib

import ddt
import fixtures
from oslotest import base

from nova_rt.rules import exception
from rt_models.colocation import profile

_SHIPPED = pathlib.Path(__file__).parents[4] / 'etc/interference'
_GOOD = ('format: nova-rt-profile/1\ntype: T\n'
         'start: [{in: function, run: [proxy, "{folder}"]}]\n'
         'load: {size: 64}\nwork: packets\n')


@ddt.ddt
class ProfileTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = self.useFixture(fixtures.TempDir()).join('p.yaml')

    def _load(self, text):
        pathlib.Path(self.path).write_text(text)
        return profile.load(self.path)

    def test_all_that_are_shipped(self):
        found = [profile.load(str(path))
                 for path in sorted(_SHIPPED.glob('*.yaml'))]
        self.assertEqual(['I', 'II', 'III', 'IV', 'V'],
                         sorted(one.type for one in found))
        self.assertTrue(all(one.needs for one in found))

    def test_defaults(self):
        found = self._load(_GOOD)
        self.assertEqual(profile.Packets(64, 64), found.load)
        self.assertEqual('T', found.title)
        self.assertEqual((profile.Command(
            profile.Namespace.FUNCTION, ('proxy', '{folder}')),), found.start)
        self.assertIsNone(found.work)

    def test_missing_program(self):
        found = self._load(f'{_GOOD}needs: [sh, no-such-program]\n')
        self.assertEqual('no-such-program', found.missing)
        self.assertEqual('', self._load(_GOOD).missing)

    @ddt.data(
        ('tipe: I', 'tipe: this key is not known; the nearest key is type.'),
        ('format: x', "format: 'x' is not the format of a profile; give "
                      'nova-rt-profile/1.'),
        ('type: a b', 'type: the name of a type has 1 to 32 letters'),
        ('load: {size: 5000}', "load.size: '5000' is not a whole number from "
                               '1 to 1400; give for example 100.'),
        ('load: {size: true}', "load.size: 'true' is not a whole number"),
        ('load: 5', 'load: this is not a mapping'),
        ('work: often', 'work: the profile does not say how work is counted'),
        ('work: {runs: {in: server, run: [x], count: "("}}',
         'work.runs.count: this is not a regular expression with one group'),
        ('work: {requests: {port: 0}}', "work.requests.port: '0' is not a"),
        ('start: [{in: space, run: [x]}]',
         "start[0].in: 'space' is not a namespace; give client, function or "
         'server.'),
        ('start: [{run: [x]}]', 'start[0].in: the key is missing; give '
         'client'),
        ('start: [{in: server, run: x}]', 'start[0].run: this is not a list'),
        ('start: [{in: server, run: [1]}]', 'start[0].run: this is not text'),
        ('start: x', 'start: this is not a list'),
        ('files: {../x: y}', 'files.../x: this is not a plain file name'),
        ('files: {.work: y}', 'files..work: this is not a plain file name'))
    @ddt.unpack
    def test_what_is_wrong_is_said_in_one_sentence(self, line, said):
        key = line.partition(':')[0]
        kept = [one for one in _GOOD.splitlines()
                if one.partition(':')[0] != key]
        error = self.assertRaises(
            exception.InvalidMatrix, self._load, '\n'.join((*kept, line)))
        self.assertIn(f'{self.path}: {said}', str(error))
        self.assertNotIn('\n', str(error))
