# SPDX-License-Identifier: Apache-2.0

"""Builds the package, and the eBPF programs of the monitor.

Without clang the build fails, because a wheel without the programs would have
the same name as a wheel with the programs.  NOVA_RT_WITHOUT_BPF=1 builds a
wheel without the programs on purpose.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import setuptools
from setuptools.command import build_py

PROGRAMS = pathlib.Path('rt_monitor/programs')
WITHOUT = 'NOVA_RT_WITHOUT_BPF'
#: ``git archive`` fills this file in.
ARCHIVE = pathlib.Path('.git_archival.txt')


class BuildPrograms(build_py.build_py):
    """Puts the compiled programs beside their sources in the package."""

    def run(self):
        if os.environ.get(WITHOUT, '') not in ('', '0'):
            super().run()
            print(f'{WITHOUT} is set: the eBPF programs are left out.')
            return
        if shutil.which('clang') is None:
            sys.exit('nova-rt: clang, which compiles the eBPF programs of '
                     'nova-rt-monitor, is not installed; install clang and '
                     f'libbpf-dev, or set {WITHOUT}=1 to build without the '
                     'programs')
        super().run()
        root = pathlib.Path('' if self.editable_mode else self.build_lib)
        subprocess.run(['sh', PROGRAMS / 'build.sh', root / PROGRAMS],
                       check=True)


class Distribution(setuptools.Distribution):
    """Names the build command, because pbr would replace ``cmdclass``."""

    def get_command_class(self, command):
        if command == 'build_py':
            return BuildPrograms
        return super().get_command_class(command)


def version_of_archive():
    """Returns the version of an archive of git, '' elsewhere.

    0.1.0 of the tag itself, 0.1.0.post7 seven commits later.
    """
    if pathlib.Path('.git').exists() or pathlib.Path('PKG-INFO').exists():
        return ''
    try:
        described = ARCHIVE.read_text().strip()
    except OSError:
        return ''
    if '$' in described:
        return ''
    tag, _, rest = described.lstrip('v').partition('-')
    commits = rest.partition('-')[0]
    return (tag or '0.0.1.dev0') + (f'.post{commits}' if commits else '')


if 'PBR_VERSION' not in os.environ and version_of_archive():
    os.environ['PBR_VERSION'] = version_of_archive()

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True,
                 distclass=Distribution)
