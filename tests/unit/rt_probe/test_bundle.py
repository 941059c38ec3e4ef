# SPDX-License-Identifier: Apache-2.0

import json
import os
import subprocess
import sys
import zipfile

import fixtures
from oslotest import base

from rt_probe import bundle
from rt_probe import errors


class BundleTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.path = f'{self.directory}/rt-probe.pyz'

    def run_it(self, *arguments):
        """The bundle runs without our packages on the path."""
        return subprocess.run(
            [sys.executable, '-I', '-S', self.path, *arguments],
            cwd=self.directory, capture_output=True, text=True)

    def test_runs_where_nothing_is_installed(self):
        bundle.write(self.path)
        self.assertEqual(['rt-probe.pyz'], os.listdir(self.directory))
        done = self.run_it('once', '--interval', '0.05')
        self.assertEqual('', done.stderr)
        self.assertIn('method', json.loads(done.stdout))

    def test_has_the_probe_alone(self):
        bundle.write(self.path)
        folders = {os.path.dirname(name) for name in zipfile.ZipFile(
            self.path).namelist() if name.endswith('.py')}
        self.assertEqual({'', 'rt_probe', 'nova_rt', 'nova_rt/machine',
                          'nova_rt/machine/host'}, folders)

    def test_of_a_bundle(self):
        bundle.write(self.path)
        done = self.run_it('bundle', 'other.pyz')
        self.assertEqual(1, done.returncode)
        self.assertEqual('rt-probe: this rt-probe already is a single file: '
                         'copy that file\n',
                         done.stderr)

    def test_cannot_be_written(self):
        error = self.assertRaises(errors.ProbeError, bundle.write,
                                  '/proc/no/file')
        self.assertIn('cannot be written', str(error))
