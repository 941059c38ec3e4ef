# SPDX-License-Identifier: Apache-2.0

"""The package of an earlier commit, in the process of the functional tests.

All computes of a functional test share one process, which has one package
``nova_rt``.  The package of the earlier commit is renamed, so that its driver
and its resource tracker run beside those of this commit.  What leaves a
process keeps its name: claims, maps, traits, the keys of system metadata and
the name of the event.
"""

import atexit
import functools
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from typing import Any

import nova.conf

from tests.emulation import tasks as emulated

_ROOT = pathlib.Path(__file__).parents[2]
#: The last commit whose nova-compute knows neither masks nor NUMA cells.
COMMIT = '2694250cf07d30e0ad4caea2c77c858a17e1964e'
NAME, _PRESENT = 'nova_rt_older', 'nova_rt'
DRIVER = f'{NAME}.RTLibvirtDriver'
_WORD = re.compile(rf'\b{_PRESENT}\b')
_TASKS = f'{_PRESENT}.machine.kernel.tasks.Tasks'
_METADATA = 'Metadata-Version: 2.1\nName: {0}\nVersion: 0\n'


def is_available() -> bool:
    """Checks whether the history of git contains the commit."""
    return subprocess.run(
        ['git', '-C', _ROOT, 'cat-file', '-e', f'{COMMIT}^{{commit}}'],
        stderr=subprocess.DEVNULL).returncode == 0


@functools.cache
def install() -> None:
    """Makes the package importable, and its driver known to Nova.

    :raises CalledProcessError: when the history of git lacks the commit
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f'{NAME}-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _unpack(folder)
    (folder / _PRESENT).rename(folder / NAME)
    for path in (folder / NAME).rglob('*.py'):
        path.write_text(renamed(path.read_text()))
    shim = folder / NAME / 'services' / 'shim'
    (shim / f'{_PRESENT}.py').rename(shim / f'{NAME}.py')
    _declare(folder)
    sys.path.insert(0, str(folder))
    module('services.install').extend_nova_virt()
    module('services.conf').register_opts(nova.conf.CONF)


def renamed(text: str) -> str:
    """Returns a text in which the package has the other name."""
    return _WORD.sub(NAME, text)


def module(name: str) -> Any:
    """Returns a module of the package."""
    return importlib.import_module(f'{NAME}.{name}')


def replacements(present: dict[str, Any]) -> dict[str, Any]:
    """Returns the replacements of system calls, for the older package.

    :param present: what replaces an attribute of the present package, by the
        name of the attribute
    """
    install()
    return {renamed(name): _tasks() if name == _TASKS else new
            for name, new in present.items() if name.startswith(_PRESENT)
            and _exists(renamed(name))}


def _exists(name: str) -> bool:
    """Checks whether the older package has such an attribute."""
    path, _, attribute = name.rpartition('.')
    try:
        return hasattr(importlib.import_module(path), attribute)
    except ModuleNotFoundError:  # "path" ends with a class or a module of os
        return _exists(path)


def _tasks() -> type:
    """The older class for the tasks of a kernel, with emulated threads."""
    return type('EmulatedTasks', (module('machine.kernel.tasks').Tasks,), {
        name: found for name, found in vars(emulated.EmulatedTasks).items()
        if callable(found)})


def _unpack(folder: pathlib.Path) -> None:
    done = subprocess.run(
        ['git', '-C', _ROOT, 'archive', COMMIT, _PRESENT, 'pyproject.toml'],
        check=True, stdout=subprocess.PIPE)
    subprocess.run(['tar', '-x', '-C', folder], check=True,
                   input=done.stdout)


def _declare(folder: pathlib.Path) -> None:
    """Writes the entry points of the package."""
    project = tomllib.loads((folder / 'pyproject.toml').read_text())
    info = folder / f'{NAME}-0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(_METADATA.format(NAME))
    (info / 'entry_points.txt').write_text(renamed('\n'.join(
        line for group, points in project['project']['entry-points'].items()
        if group.startswith(f'{_PRESENT}.') for line in (
            f'[{group}]', *(f'{name} = {target}'
                            for name, target in points.items())))))
