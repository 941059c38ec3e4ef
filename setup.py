# SPDX-License-Identifier: Apache-2.0

"""Builds the package, and the programs of the monitor where clang is."""

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
            print('Without clang the programs of the monitor are left out.')
            return
        subprocess.run(['sh', PROGRAMS / 'build.sh', root / PROGRAMS],
                       check=True)


class Distribution(setuptools.Distribution):
    """Has that command; pbr replaces what ``cmdclass`` would say."""

    def get_command_class(self, command):
        if command == 'build_py':
            return BuildPrograms
        return super().get_command_class(command)


setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True,
                 distclass=Distribution)
