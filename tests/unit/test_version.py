# SPDX-License-Identifier: Apache-2.0

"""nova_rt.version, and ``--version`` of each command."""

from importlib import metadata
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from unittest import mock

import ddt
from oslotest import base

from nova_rt import version
from rt_operate.doctor import report as doctor_report
from rt_probe import bundle

_ROOT = pathlib.Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / 'pyproject.toml').read_text())['project']
#: Begins a script by its entry point, where no other package can be
#: imported.
_START = """
import importlib
import sys

OURS = ('nova_rt', 'rt_client', 'rt_hcbs', 'rt_models', 'rt_monitor',
        'rt_operate', 'rt_probe', 'tacker_rt')


class Alone:
    def find_spec(self, name, path=None, target=None):
        package = name.partition('.')[0]
        if package not in {*sys.stdlib_module_names, *OURS}:
            raise ModuleNotFoundError(f'no {name}', name=name)


sys.meta_path.insert(0, Alone())
sys.argv[0] = sys.argv[1]
module, _, function = sys.argv[2].partition(':')
del sys.argv[1:3]
sys.exit(getattr(importlib.import_module(module), function)())
"""


def _run(*argv):
    done = subprocess.run([sys.executable, *argv], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@ddt.ddt
class VersionTest(base.BaseTestCase):

    def test_it_is_that_of_the_metadata(self):
        self.assertEqual(metadata.version('nova-rt'), version.get())

    def test_a_tree_that_was_never_installed(self):
        self.addCleanup(version.get.cache_clear)
        version.get.cache_clear()
        with mock.patch.object(metadata, 'version',
                               side_effect=metadata.PackageNotFoundError):
            self.assertEqual('unknown', version.get())

    @ddt.data(*_PROJECT['scripts'].items())
    @ddt.unpack
    def test_each_command_without_any_other_package(self, prog, entry):
        self.assertEqual(
            (0, f'{prog} {version.get()}\n', ''),
            _run('-c', _START, prog, entry, '--version'))

    def test_a_bundle(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f'{folder}/probe'
            bundle.write(path)
            self.assertEqual((0, f'rt-probe {version.get()}\n', ''),
                             _run('-I', '-S', path, '--version'))

    def test_the_doctor(self):
        found = json.loads(doctor_report.as_json([], None, None, False))
        self.assertEqual(version.get(), found['version'])


@ddt.ddt
class MissingTest(base.BaseTestCase):
    """``nova-rt`` and ``tacker-rt`` with nothing but Python."""

    @ddt.data(('nova-rt', 'plan', 'numpy', 'models'),
              ('nova-rt', 'predict', 'numpy', 'models'),
              ('nova-rt', 'advise', 'numpy', 'models'),
              ('nova-rt', 'interference', 'PyYAML', 'models'),
              ('tacker-rt', 'validate', 'PyYAML', 'tacker'))
    @ddt.unpack
    def test_a_subcommand_says_which_extra_it_needs(
            self, prog, command, package, extra):
        entry = _PROJECT['scripts'][prog]
        for argv in (['--help'], ['--nosuch', 'x', '-f'], []):
            status, out, err = _run('-c', _START, prog, entry, command, *argv)
            self.assertEqual((1, ''), (status, out))
            self.assertEqual(
                f'{prog}: {package} is not installed in this Python '
                f'environment; install nova-rt[{extra}] there, or run the '
                f'command in an environment that has {package}.\n', err)
        _, out, _ = _run('-c', _START, prog, entry, '--help')
        self.assertRegex(' '.join(out.split()),
                         rf'{command} needs {package}: install nova-rt\['
                         rf'{extra}\]')

    @ddt.data('doctor', 'release', 'conformance', 'pinning', 'monitor', 'top',
              'graph')
    def test_a_subcommand_that_needs_nothing(self, command):
        status, out, err = _run('-c', _START, 'nova-rt',
                                _PROJECT['scripts']['nova-rt'], command,
                                '--help')
        self.assertEqual((0, ''), (status, err))
        self.assertTrue(out.startswith(f'usage: nova-rt {command}'), out)
