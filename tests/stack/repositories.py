# SPDX-License-Identifier: Apache-2.0

"""Repositories that a DevStack can clone without a network.

Each has one commit, the newest tree of a repository of the user, and a tag
by which pbr knows the version.
"""

import os
import pathlib
import subprocess

#: The folder with a repository of each project, as NAME or NAME.git.
VARIABLE = 'NOVA_RT_DEVSTACK'
PROJECTS = ('devstack', 'requirements', 'keystone', 'glance', 'neutron',
            'nova', 'placement')
OURS = pathlib.Path(__file__).parents[2]

_PERSON = {f'GIT_{who}_{what}': f'nova-rt{end}'
           for who in ('AUTHOR', 'COMMITTER')
           for what, end in (('NAME', ''), ('EMAIL', '@localhost'))}
# Arguments: the source, the new repository, its branch.
_MAKE = """
git init -q --bare -b "$3" "$2"
cd "$2"
git fetch -q --depth 1 "file://$1" HEAD
git update-ref "refs/heads/$3" "$(git commit-tree -m tree 'FETCH_HEAD^{tree}')"
tag=$(git -C "$1" describe --tags --abbrev=0 HEAD 2> /dev/null || echo 0.0.1)
git tag -a -m "$tag" "$tag" "$3"
rm -f shallow FETCH_HEAD
git gc -q --prune=now
"""


def lacking() -> str:
    """Returns why there is no DevStack to be had; '' where there is one."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return (f'{VARIABLE} names no folder with repositories of '
                f'{", ".join(PROJECTS)}')
    missing = [name for name in PROJECTS
               if _find(pathlib.Path(folder), name) is None]
    return f'{folder} has no repository {missing[0]}' if missing else ''


def make(target: pathlib.Path) -> None:
    """Makes target/nova-rt.git and a repository for each OpenStack project."""
    folder = pathlib.Path(os.environ[VARIABLE])
    for name in PROJECTS:
        source = _find(folder, name)
        assert source is not None, name
        bare = target / 'openstack' / f'{name}.git'
        _make(source, bare, 'master')
        bare.with_suffix('').symlink_to(bare.name)
    _make(OURS, target / 'nova-rt.git', 'main')


def _find(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    for path in (folder / name, folder / f'{name}.git'):
        if path.is_dir():
            return path.resolve()
    return None


def _make(source: pathlib.Path, bare: pathlib.Path, branch: str) -> None:
    bare.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(['sh', '-euc', _MAKE, 'sh', source, bare, branch],
                   check=True, env={**os.environ, **_PERSON})
