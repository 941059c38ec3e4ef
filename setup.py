# SPDX-License-Identifier: Apache-2.0

"""Builds the package, and the monitor's programs if clang is installed."""

import pathlib
import shutil
import subprocess

import setuptools
from setuptools.command import build_py

PROGRAMS = pathlib.Path('rt_monitor/programs')


class BuildPrograms(build_py.build_py):
    """Puts the compiled programs beside their sources in the package."""

    def run(self):
        super().run()
        root = pathlib.Path('' if self.editable_mode else self.build_lib)
        if shutil.which('clang') is None:
            print('clang is not installed: the monitor programs are left out.')
            return
        subprocess.run(['sh', PROGRAMS / 'build.sh', root / PROGRAMS],
                       check=True)


class Distribution(setuptools.Distribution):
    """Names that command, because pbr would replace ``cmdclass``."""

    def get_command_class(self, command):
        if command == 'build_py':
            return BuildPrograms
        return super().get_command_class(command)


setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True,
                 distclass=Distribution)
