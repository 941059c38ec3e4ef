# SPDX-License-Identifier: Apache-2.0

"""Campaigns that continue where they were stopped."""

import argparse
import pathlib
import tempfile
import time
import unittest

from paper import resumable


class ResumableTest(unittest.TestCase):

    def begin(self, folder, *arguments):
        parser = argparse.ArgumentParser()
        resumable.register(parser, 'one/one.csv', runs=5)
        options = parser.parse_args(
            ['--data', f'{folder}/two/two.csv', *arguments])
        return options, resumable.begin(options)

    def test_a_short_check_has_a_file_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            two = pathlib.Path(folder, 'two')
            two.mkdir()
            for name in ('two.csv', 'two-short.csv', 'two-short.csv.csv'):
                (two / name).touch()
            options, _ = self.begin(folder, '--short')
            self.assertEqual(two / 'two-short.csv', options.data)
            self.assertEqual([two / 'two.csv'], [*two.iterdir()])

    def test_a_short_check_is_one_run_that_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            options, end = self.begin(folder, '--short')
            self.assertEqual(1, options.runs)
            self.assertLessEqual(end, time.monotonic() + resumable.SHORT_S)

    def test_a_shorter_time_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            options, _ = self.begin(folder, '--short', '--seconds', '2')
            self.assertEqual(2, options.seconds)

    def test_other_campaigns_continue(self):
        with tempfile.TemporaryDirectory() as folder:
            options, _ = self.begin(folder)
            self.assertEqual((5, 'two.csv'),
                             (options.runs, options.data.name))
            self.assertTrue(options.data.parent.is_dir())
