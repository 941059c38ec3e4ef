# SPDX-License-Identifier: Apache-2.0

"""Keeps the databases of a new cloud, and copies them for every later cloud.

Each service keeps its databases when their tables and their first rows are
made, before the service answers a request.  The copies are for one set of
packages, for one directory of the cloud and for one choice of ports, because
rows name paths and ports.  The full cloud keeps its databases in another way,
see full/tables.py.
"""

import contextlib
import functools
import hashlib
from importlib import metadata
import pathlib
import shutil
import sqlite3
import sys
import tempfile

from cloud import settings

PACKAGES = ('keystone', 'openstack-placement', 'glance', 'neutron', 'nova')
#: The databases and directories of each service, below the cloud's data.
FILES = {
    'keystone': ('keystone.db', 'fernet-keys', 'credential-keys'),
    'placement': ('placement.db',), 'glance': ('glance.db',),
    'neutron': ('neutron.db',),
    'nova': ('nova_api.db', 'nova_cell0.db', 'nova_cell1.db')}
#: The option of forks.py for processes that only complete databases.
OPTION = '--databases'
# The files that decide on the contents of new databases.
_SOURCES = ('databases.py', 'register.py', 'settings.py', 'templates')


def restore(cloud: settings.Settings, service: str) -> bool:
    """Returns whether the databases are complete, after copying kept files.

    The function never replaces a file that exists: a service that starts
    again goes on with its own databases.
    """
    if cloud.full:
        return False
    if _stamp(cloud, service).exists():
        return True
    source = _kept(cloud) / service
    targets = [cloud.data / name for name in FILES[service]]
    if not source.is_dir() or any(path.exists() for path in targets):
        return False
    for target in targets:
        _copy(source / target.name, target)
    _stamp(cloud, service).touch()
    return True


def keep(cloud: settings.Settings, service: str) -> None:
    """Keeps complete databases, unless another cloud has kept its own."""
    if cloud.full:
        return
    _stamp(cloud, service).touch()
    kept = _kept(cloud)
    # Nobody may write to the directory in the lab: then each start is longer.
    with contextlib.suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
        scratch = pathlib.Path(tempfile.mkdtemp(dir=kept))
        for name in FILES[service]:
            _copy(cloud.data / name, scratch / name)
        _place(scratch, kept / service)
        _forget_others(kept)


def is_complete(cloud: settings.Settings) -> bool:
    """Returns whether the databases of all services are kept."""
    return all((_kept(cloud) / service).is_dir() for service in FILES)


def root() -> pathlib.Path:
    """Returns the directory with the databases of all clouds."""
    return pathlib.Path(sys.prefix, 'cache', 'cloud')


def _place(scratch: pathlib.Path, target: pathlib.Path) -> None:
    try:
        scratch.rename(target)
    except OSError:
        # Another cloud was faster.
        shutil.rmtree(scratch)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a directory, or a database whose service is running."""
    if source.is_dir():
        shutil.copytree(source, target)
        return
    with (contextlib.closing(sqlite3.connect(source)) as one,
          contextlib.closing(sqlite3.connect(target)) as other):
        one.backup(other)


def _forget_others(kept: pathlib.Path) -> None:
    """Removes the databases that were kept for other packages."""
    for other in kept.parent.parent.iterdir():
        if other != kept.parent:
            shutil.rmtree(other, ignore_errors=True)


def _stamp(cloud: settings.Settings, service: str) -> pathlib.Path:
    return cloud.data / f'{service}-tables-made'


def _kept(cloud: settings.Settings) -> pathlib.Path:
    place = f'{cloud.directory} {cloud.port_base}'
    return root() / _contents() / _short(place.encode())


@functools.cache
def _contents() -> str:
    """Returns a name for the content of new databases."""
    versions = [metadata.version(name) for name in PACKAGES]
    here = pathlib.Path(__file__).parent
    texts = [path.read_bytes() for name in _SOURCES
             for path in [here / name, *sorted((here / name).glob('*'))]
             if path.is_file()]
    return _short(repr(versions).encode() + b''.join(texts))


def _short(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
