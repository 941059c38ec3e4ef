# SPDX-License-Identifier: Apache-2.0

import pathlib

import ddt
import fixtures
from oslotest import base

from rt_probe import errors
from rt_probe import speed


@ddt.ddt
class SpeedTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = self.useFixture(fixtures.TempDir()).join('calibration')

    def test_all_tasks_take_time(self):
        found = speed.measure(3)
        self.assertEqual({'sha256', 'memory'}, set(found))
        self.assertTrue(all(time_us > 0 for time_us in found.values()))

    def test_twice_as_fast(self):
        self.assertEqual({'sha256': 2}, speed.ratios(
            {'sha256': 5, 'memory': 7}, {'sha256': 10}))

    def test_kept(self):
        speed.write(self.path, {'sha256': 9.5})
        self.assertEqual({'sha256': 9.5}, speed.read(self.path))

    @ddt.data('', '{', '[]', '7', '{"format": "other", "us": {}}',
              '{"format": "rt-probe-calibration/1"}',
              '{"format": "rt-probe-calibration/1", "us": [1]}',
              '{"format": "rt-probe-calibration/1", "us": {"a": "b"}}',
              '{"format": "rt-probe-calibration/1", "us": {"a": 0}}',
              '{"format": "rt-probe-calibration/1", "us": {"a": 1e999}}')
    def test_no_calibration(self, text):
        pathlib.Path(self.path).write_text(text)
        error = self.assertRaises(errors.ProbeError, speed.read, self.path)
        self.assertEqual(
            f'{self.path} is not a calibration of rt-probe; make one with '
            f'"rt-probe calibrate {self.path}"', str(error))

    def test_no_file(self):
        error = self.assertRaises(errors.ProbeError, speed.read, self.path)
        self.assertIn('No such file', str(error))

    def test_cannot_be_written(self):
        error = self.assertRaises(errors.ProbeError, speed.write,
                                  '/proc/no/file', {})
        self.assertIn('cannot be written', str(error))
