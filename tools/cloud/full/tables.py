# SPDX-License-Identifier: Apache-2.0

"""Makes the databases and their tables once, and copies them for every cloud.

The module runs each project's own command, as an operator does; all commands
together take a minute.  The module keeps MariaDB's files under a name that
says which packages the files fit.
"""

from collections.abc import Sequence
from concurrent import futures
import contextlib
import hashlib
from importlib import metadata
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cloud.full import infra
from cloud import settings

DATABASES = ('keystone', 'placement', 'glance', 'neutron', 'heat', 'tacker',
             'nova_api', 'nova_cell0', 'nova_cell1')
_PACKAGES = ('keystone', 'openstack-placement', 'glance', 'neutron',
             'openstack-heat', 'tacker', 'nova')
# The server must end before its files are copied.
SERVER = 'mariadb'


class Failed(Exception):
    """A command did not make the tables of a project."""

    def __init__(self, project: str) -> None:
        super().__init__(f'{project} has no tables')
        self.project = project


def restore(cloud: settings.Settings) -> bool:
    """Gives MariaDB the kept files; returns whether there are any."""
    own = infra.data(cloud)
    if _stamp(cloud).exists():
        return True
    shutil.rmtree(own, ignore_errors=True)
    kept = _kept(cloud)
    if _of_another_nova() or not kept.exists():
        return False
    shutil.copytree(kept, own)
    _stamp(cloud).touch()
    return True


def keep(cloud: settings.Settings) -> None:
    """Keeps the files of a MariaDB, which must have ended."""
    if _of_another_nova():
        _stamp(cloud).touch()
        return
    kept = _kept(cloud)
    kept.parent.mkdir(exist_ok=True)
    scratch = pathlib.Path(tempfile.mkdtemp(dir=kept.parent))
    shutil.copytree(infra.data(cloud), scratch / 'data')
    for old in kept.parent.glob('mariadb-*'):
        shutil.rmtree(old)
    (scratch / 'data').rename(kept)
    scratch.rmdir()
    _stamp(cloud).touch()


def _of_another_nova() -> bool:
    return str(settings.nova_prefix()) != sys.prefix


def _stamp(cloud: settings.Settings) -> pathlib.Path:
    return cloud.data / 'tables-made'


def _kept(cloud: settings.Settings) -> pathlib.Path:
    """Returns the kept files; Nova's tables name database and broker ports."""
    versions = [metadata.version(name) for name in _PACKAGES]
    key = hashlib.sha256(
        f'{versions} {cloud.database_url} {cloud.rabbit_url} '
        f'{infra.mariadb_version()}'.encode()).hexdigest()[:16]
    return pathlib.Path(sys.prefix, 'cache', f'mariadb-{key}')


def make(cloud: settings.Settings) -> None:
    """Makes all databases and tables, several projects at the same time.

    :raises Failed: when a command fails; the end of the log says why
    """
    with contextlib.closing(infra.database(cloud)) as connection:
        with connection.cursor() as cursor:
            for name in DATABASES:
                cursor.execute(f'create database if not exists {name}')
    with futures.ThreadPoolExecutor() as pool:
        made = [pool.submit(_run, cloud, project, commands)
                for project, commands in _commands(cloud).items()]
    for each in made:
        each.result()


def _commands(cloud: settings.Settings) -> dict[str, list[list[str]]]:
    def argv(program: str, project: str, *files: str) -> list[str]:
        return [program, *(f'--config-file={cloud.etc / project / name}'
                           for name in files)]

    nova = argv('nova-manage', 'nova', 'nova.conf')
    return {
        'nova': [
            [*nova, 'api_db', 'sync'],
            [*nova, 'cell_v2', 'map_cell0', '--database_connection',
             f'{cloud.database_url}/nova_cell0'],
            [*nova, 'cell_v2', 'create_cell', '--name', 'cell1'],
            [*nova, 'db', 'sync']],
        'neutron': [[*argv('neutron-db-manage', 'neutron', 'neutron.conf',
                           'plugins/ml2/ml2_conf.ini'), 'upgrade', 'head']],
        'tacker': [[*argv('tacker-db-manage', 'tacker', 'tacker.conf'),
                    'upgrade', 'head']],
        'heat': [[*argv('heat-manage', 'heat', 'heat.conf'), 'db_sync']],
        'glance': [[*argv('glance-manage', 'glance', 'glance-api.conf'),
                    'db_sync']],
        'keystone': [[*argv('keystone-manage', 'keystone', 'keystone.conf'),
                      'db_sync']],
        'placement': [[*argv('placement-manage', 'placement',
                             'placement.conf'), 'db', 'sync']],
    }


def log_name(project: str) -> str:
    """Returns the name of the log of a project's command."""
    return f'{project}-tables'


def _run(cloud: settings.Settings, project: str,
         commands: Sequence[Sequence[str]]) -> None:
    with cloud.log_file(log_name(project)).open('ab') as log:
        for command in commands:
            done = subprocess.run(command, env=cloud.environment(),
                                  stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log)
            if done.returncode:
                raise Failed(project)
