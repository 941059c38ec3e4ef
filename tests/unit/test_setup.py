# SPDX-License-Identifier: Apache-2.0

"""setup.py: the eBPF programs, the version of an archive; setup.cfg."""

import configparser
import os
import pathlib
import runpy
import shutil
import subprocess
import tempfile
import tomllib
from unittest import mock

import ddt
from oslotest import base
import setuptools

_ROOT = pathlib.Path(__file__).parents[2]


def _setup():
    """Returns the definitions of setup.py, without a run."""
    with (mock.patch.object(setuptools, 'setup'),
          mock.patch.dict(os.environ)):
        return runpy.run_path(str(_ROOT / 'setup.py'))


@ddt.ddt
class ProgramsTest(base.BaseTestCase):

    def build(self, clang, **environment):
        """Returns the command that compiled the programs, or None."""
        # Without its __init__, because pbr would begin to write files.
        cls = _setup()['BuildPrograms']
        command = cls.__new__(cls)
        command.editable_mode = False
        command.build_lib = 'lib'
        with (mock.patch.object(shutil, 'which', return_value=clang),
              mock.patch.object(setuptools.command.build_py.build_py, 'run'),
              mock.patch.object(subprocess, 'run') as run,
              mock.patch.dict(os.environ, environment)):
            command.run()
        return run.call_args and run.call_args.args[0]

    def test_they_are_compiled(self):
        self.assertEqual(
            ['sh', 'rt_monitor/programs/build.sh', 'lib/rt_monitor/programs'],
            list(map(str, self.build('/usr/bin/clang'))))

    def test_without_clang_there_is_no_wheel(self):
        error = self.assertRaises(SystemExit, self.build, None)
        self.assertEqual(
            'nova-rt: clang, which compiles the eBPF programs of '
            'nova-rt-monitor, is not installed; install clang and '
            'libbpf-dev, or set NOVA_RT_WITHOUT_BPF=1 to build without the '
            'programs', str(error))
        self.assertRaises(SystemExit, self.build, None,
                          NOVA_RT_WITHOUT_BPF='0')

    @ddt.data(None, '/usr/bin/clang')
    def test_a_wheel_without_them_is_asked_for(self, clang):
        self.assertIsNone(self.build(clang, NOVA_RT_WITHOUT_BPF='1'))


@ddt.ddt
class ArchiveTest(base.BaseTestCase):

    def version(self, described, *others):
        with tempfile.TemporaryDirectory() as folder:
            for name in others:
                pathlib.Path(folder, name).touch()
            if described is not None:
                pathlib.Path(folder, '.git_archival.txt').write_text(
                    described + '\n')
            function = _setup()['version_of_archive']
            before = os.getcwd()
            os.chdir(folder)
            try:
                return function()
            finally:
                os.chdir(before)

    @ddt.data(('0.1.0', '0.1.0'), ('v0.1.0', '0.1.0'),
              ('0.1.0-7-gabcdef0', '0.1.0.post7'), ('', '0.0.1.dev0'))
    @ddt.unpack
    def test_an_archive_knows_its_version(self, described, version):
        self.assertEqual(version, self.version(described))

    def test_elsewhere_pbr_knows(self):
        self.assertEqual('', self.version('0.1.0', '.git'))
        self.assertEqual('', self.version('0.1.0', 'PKG-INFO'))
        self.assertEqual('', self.version('$Format:%(describe)$'))
        self.assertEqual('', self.version(None))

    def test_git_fills_the_file_in(self):
        self.assertEqual('.git_archival.txt export-subst\n',
                         (_ROOT / '.gitattributes').read_text())
        self.assertIn('$Format:%(describe:',
                      (_ROOT / '.git_archival.txt').read_text())


class ScriptTest(base.BaseTestCase):
    """tools/setup.sh, where nothing is left to be installed by apt."""

    def run_in(self, folder):
        return subprocess.run(
            ['sh', f'{folder}/tools/setup.sh'], capture_output=True,
            text=True, check=False,
            env={**os.environ, 'PYTHON': f'{folder}/python'})

    def test_what_a_step_prints_is_shown_where_it_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'tools').mkdir()
            shutil.copy(_ROOT / 'tools/setup.sh', root / 'tools')
            (root / 'bindep.txt').touch()
            python = root / 'python'
            python.write_text('#!/bin/sh\necho about $1\n[ $1 = -c ]\n')
            python.chmod(0o755)
            done = self.run_in(folder)
        self.assertEqual((1, 'setup: make .venv ...\n'),
                         (done.returncode, done.stdout))
        self.assertTrue(done.stderr.endswith('about -c\nabout -m\n'),
                        done.stderr)


class FilesTest(base.BaseTestCase):

    def files(self):
        """Returns where the wheel puts the files of etc/, below the prefix."""
        config = configparser.ConfigParser()
        config.read(_ROOT / 'setup.cfg')
        target, found = '', {}
        for line in config['files']['data_files'].split('\n'):
            if line.endswith('='):
                target = line.removesuffix('=').strip()
            elif line:
                found[line.strip()] = target
        return found

    def test_no_file_is_where_an_operator_edits_it(self):
        for source, target in self.files().items():
            below = pathlib.Path(source).relative_to('etc').parent
            self.assertEqual(str('share/nova-rt' / below), target)

    def test_each_sample_is_in_the_wheel(self):
        self.assertEqual(
            {str(path.relative_to(_ROOT))
             for path in (_ROOT / 'etc').rglob('*') if path.is_file()},
            set(self.files()))

    def test_an_archive_has_the_data_that_git_has(self):
        """Without git, pbr finds modules only."""
        project = tomllib.loads((_ROOT / 'pyproject.toml').read_text())
        data = project['tool']['setuptools']['package-data']
        named = {path for package, patterns in data.items()
                 for pattern in patterns
                 for path in (_ROOT / package).glob(pattern)}
        packages = ('nova_rt', 'nova_rt_tempest_plugin', 'rt_hcbs',
                    'rt_models', 'rt_monitor', 'rt_operate', 'rt_probe',
                    'rt_weighers', 'tacker_rt')
        self.assertEqual(set(), {
            path for package in packages
            for path in (_ROOT / package).rglob('*.*')
            if path.suffix not in ('.py', '.pyc', '.o')} - named)

    def test_the_texts_of_all_licences(self):
        programs = [path.read_text().splitlines()[0]
                    for path in (_ROOT / 'rt_monitor/programs').glob('*.[ch]')]
        self.assertTrue(programs)
        for line in programs:
            self.assertIn('GPL-2.0-only OR BSD-2-Clause', line)
        for name, words in (('LICENSE', 'Apache License'),
                            ('LICENSES/GPL-2.0-only.txt', 'GNU GENERAL'),
                            ('LICENSES/BSD-2-Clause.txt', 'binary forms')):
            self.assertIn(words, (_ROOT / name).read_text())
