# SPDX-License-Identifier: Apache-2.0

"""The cells that are measured, those that are missing, and the file."""

import itertools
import pathlib

import fixtures
from oslotest import base
import yaml

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import reservation
from rt_models.colocation import campaign
from rt_models.colocation import profile
from rt_models.colocation import records
from rt_models.colocation import summary
from rt_models.colocation import trial
from rt_models.interference import document
from rt_models.interference import matrix

_TYPES = ('a', 'b')
_SETTING = trial.Setting((1, 1), reservation.Reservation(30_000, 100_000))


def _profile(name):
    return profile.Profile(name, f'the {name}', (), {}, (), (),
                           profile.Packets(64, 1), None)


class CampaignTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.records = self._open()

    def _open(self, setting=_SETTING):
        return records.Records(self.folder / 'x.csv', str(setting))

    def _fill(self, count):
        for number in range(count):
            for target, competitor in itertools.product(_TYPES, ('', 'b')):
                self.records.add(target, competitor,
                                 100.0 - 2 * bool(competitor) + number)
            self.records.add('b', 'b', 98.0 + number)
            self.records.add('b', 'a', 90.0 + number)
            self.records.add('a', 'a', 99.0 + number)
            self.records.add('a', 'a', 99.0 + number)

    def test_pairs_of_one_type_count_once_for_two_results(self):
        self._fill(2)
        self.assertEqual([], campaign.missing(_TYPES, self.records, 2))
        self.assertEqual(2, campaign.done(('a', 'a'), self.records))
        self.assertEqual(2, campaign.done(('a', 'b'), self.records))

    def test_rounds_are_whole_before_the_next(self):
        self.records.add('a', '', 1.0)
        found = campaign.missing(_TYPES, self.records, 2)
        self.assertCountEqual([('b',), ('a', 'a'), ('a', 'b'), ('b', 'b')],
                              found[:4])
        self.assertCountEqual(campaign.cells(_TYPES), found[4:])

    def test_results_are_read_again(self):
        self._fill(1)
        self.assertEqual(self.records.all, self._open().all)

    def test_other_results_are_not_gone_on_with(self):
        self._fill(1)
        error = self.assertRaises(
            exception.InvalidMatrix, self._open, trial.Setting((1, 1)))
        self.assertIn('the results were measured 30000/100000 us on 1 '
                      'and 1 for 4 '
                      's, and not shared on 1 and 1 for 4 s; give the same '
                      'options', str(error))
        (self.folder / 'x.csv').write_text('a,b\n')
        error = self.assertRaises(exception.InvalidMatrix, self._open)
        self.assertIn('this is not a file of results', str(error))

    def test_the_file_is_one_of_the_scheduler(self):
        self._fill(5)
        path = self.folder / 'm.yaml'
        summary.write(path, [_profile(one) for one in _TYPES], self.records,
                      _SETTING)
        found = document.load(str(path))
        self.assertEqual(neighbours.Kind.RESERVED, found.kind)
        self.assertEqual({'a': 'the a', 'b': 'the b'}, found.types)
        self.assertAlmostEqual(92 / 102, found.cell('b', 'a'), 4)
        cell = found.known['a', 'b']
        self.assertEqual((matrix.Origin.MEASURED, 5), (cell.origin,
                                                       cell.runs))
        self.assertEqual('normalised-throughput',
                         yaml.safe_load(path.read_text())['metric'])
        self.assertEqual(['m.yaml', 'x.csv'], sorted(
            one.name for one in self.folder.iterdir()))

    def test_nonsense_leaves_no_file(self):
        self._fill(1)
        self.records.add('a', 'b', 500.0)
        path = self.folder / 'm.yaml'
        self.assertRaises(
            exception.InvalidMatrix, summary.write, path,
            [_profile(one) for one in _TYPES], self.records, _SETTING)
        self.assertEqual(['x.csv'], [one.name for one
                                     in self.folder.iterdir()])
