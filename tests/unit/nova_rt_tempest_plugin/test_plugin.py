# SPDX-License-Identifier: Apache-2.0

"""Tests that Tempest finds the plugin, its options, its tests."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import fixtures
from oslo_config import cfg
from oslotest import base

from nova_rt_tempest_plugin import plugin


class PluginTest(base.BaseTestCase):

    def test_entry_point(self):
        entry, = importlib.metadata.entry_points(
            group='tempest.test_plugins', name='nova_rt')
        self.assertIs(plugin.NovaRtTempestPlugin, entry.load())

    def test_options(self):
        found = plugin.NovaRtTempestPlugin()
        conf = cfg.ConfigOpts()
        found.register_opts(conf)
        conf([], default_config_files=[])
        (group, options), = found.get_opt_lists()
        self.assertEqual({option.dest for option in options},
                         set(conf[group]))
        # A hint and a resize ask for more, and that still makes sense.
        self.assertLess(conf.nova_rt.runtime_us,
                        conf.nova_rt.larger_runtime_us)
        self.assertLess(conf.nova_rt.larger_runtime_us,
                        conf.nova_rt.period_us)

    def test_tests_are_found_without_a_cloud(self):
        """The test has a process of its own: Tempest's options are global."""
        directory, top = plugin.NovaRtTempestPlugin().load_tests()
        elsewhere = self.useFixture(fixtures.TempDir()).path
        found = subprocess.run(
            [sys.executable, '-m', 'testtools.run', 'discover', '--list',
             '-s', directory, '-t', top],
            cwd=elsewhere, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.assertEqual(0, found.returncode, found.stdout)
        listed = re.findall(r'\[id-([0-9a-f-]+)', found.stdout)
        written = [each for path in pathlib.Path(directory).rglob('test_*.py')
                   for each in _ids(path)]
        self.assertEqual(sorted(written), sorted(listed))
        self.assertEqual(len(written), len(set(written)))


def _ids(path):
    """Returns the ids of a file's tests; Tempest ignores tests without one."""
    text = path.read_text()
    ids = re.findall(r"idempotent_id\('(.*)'\)", text)
    tests = re.findall(r'^    def test_', text, re.MULTILINE)
    if len(ids) != len(tests):
        raise AssertionError(f'{path}: {len(tests)} tests, {len(ids)} ids')
    return ids
