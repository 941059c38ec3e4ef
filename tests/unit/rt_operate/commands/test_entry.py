# SPDX-License-Identifier: Apache-2.0

"""Tests how the scripts start if a package that they need is missing."""

import subprocess
import sys

import ddt
from oslotest import base

#: Begins a script by its entry point, without some packages.
_START = """
import importlib
import sys

for name in {packages!r}:
    sys.modules[name] = None
module, _, function = {entry!r}.partition(':')
sys.argv[0] = {prog!r}
sys.exit(getattr(importlib.import_module(module), function)())
"""
#: A script with a command that has something to say to its developers.
_WARNS = """
import warnings

from nova_rt.cli import base


def warn(args):
    warnings.warn('it goes', DeprecationWarning)
    return 0


base.run('x', 'X.', [lambda commands: commands.add_parser(
    'warn').set_defaults(run=warn)], ['warn'])
"""
_MANAGE = 'nova-rt-manage', 'rt_operate.commands.entry:manage'
_STATUS = 'nova-rt-status', 'rt_operate.commands.entry:status'
_COMPUTE = 'nova-rt-compute', 'rt_operate.commands.entry:compute'
_TACKER = 'tacker-rt', 'tacker_rt.cmd.main:main'
_SAMPLE = 'tosca-samples/legacy/paper-5.1.yaml'


@ddt.ddt
class MissingTest(base.BaseTestCase):

    def _run(self, script, packages, *argv):
        prog, entry = script
        return subprocess.run(
            [sys.executable, '-c', _START.format(
                packages=packages, entry=entry, prog=prog), *argv],
            capture_output=True, text=True, check=False)

    @ddt.data(
        (_MANAGE, 'nova', 2, 'Nova', 'check'),
        (_STATUS, 'nova', 255, 'Nova', 'upgrade', 'check'),
        (_COMPUTE, 'nova', 1, 'Nova'),
        (_TACKER, 'toscaparser', 1, 'tosca-parser', 'translate', _SAMPLE),
        (_TACKER, 'translator', 1, 'heat-translator', 'translate', _SAMPLE),
        (_TACKER, 'toscaparser', 1, 'tosca-parser', 'pack', _SAMPLE, 'x'),
        (_STATUS, 'keystoneauth1', 255, 'Nova', 'upgrade', 'check'),
        (_MANAGE, 'oslo_config', 2, 'oslo.config', 'check'))
    @ddt.unpack
    def test_one_sentence(self, script, package, status, name, *argv):
        done = self._run(script, (package,), *argv)
        self.assertEqual((status, ''), (done.returncode, done.stdout))
        self.assertEqual(1, done.stderr.count('\n'), done.stderr)
        self.assertIn(f'{script[0]}: {name} is not installed', done.stderr)

    def test_a_module_of_our_own_is_a_defect(self):
        done = self._run(_MANAGE, ('rt_operate.manage.command',), 'check')
        self.assertIn('Traceback', done.stderr)

    def test_nothing_of_other_packages(self):
        """Nova imports eventlet, which announces its deprecation."""
        done = self._run(_MANAGE, (), '--config-file', '/dev/null', 'check')
        self.assertEqual((2, ''), (done.returncode, done.stdout))
        self.assertEqual(1, done.stderr.count('\n'), done.stderr)
        self.assertTrue(done.stderr.startswith('nova-rt-manage: '))

    def test_nothing_of_what_is_imported(self):
        """oslo.privsep imports eventlet, too, which warns."""
        for options, shown in (((), False), (('-W', 'default'), True)):
            done = subprocess.run(
                [sys.executable, *options, '-c', _WARNS],
                capture_output=True, text=True, check=True)
            self.assertEqual(shown, 'it goes' in done.stderr, done.stderr)
