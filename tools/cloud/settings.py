# SPDX-License-Identifier: Apache-2.0

"""The settings of the cloud: its directory, its ports and its services.

This module decides only names and numbers; config.py renders the configuration
files.
"""

import dataclasses
import json
import os
import pathlib
import sys

from cloud import computes
from cloud import guests

PROJECT = pathlib.Path(__file__).resolve().parents[2]

DIR_VARIABLE = 'NOVA_RT_CLOUD_DIR'
PORT_VARIABLE = 'NOVA_RT_CLOUD_PORT_BASE'
PLUGIN_VARIABLE = 'NOVA_RT_CLOUD_PLUGIN'
PATIENCE_VARIABLE = 'NOVA_RT_CLOUD_PATIENCE'
#: A virtual environment whose Nova and Placement the full cloud runs.
NOVA_VARIABLE = 'NOVA_RT_CLOUD_NOVA'
# Set for every process of the cloud, so that leftover ones can be found.
MARK_VARIABLE = 'NOVA_RT_CLOUD_PART_OF'

REGION = 'RegionOne'
PASSWORD = 'secret'
# Nova formats this with the instance's id; the result names the domain.
DOMAIN_PREFIX = 'nova-rt-'

WSGI_SERVICES = ('keystone', 'placement', 'glance', 'neutron')
SERVICES = (*WSGI_SERVICES, 'nova')
# The further services of the full cloud, in the order of the ports.
FULL_SERVICES = ('heat', 'tacker', 'mariadb', 'rabbitmq', 'epmd', 'erlang')


def patience(seconds: float) -> float:
    """Returns how long to wait here for an action of at most *seconds*.

    The result is longer in an emulated machine, which is slower.

    :raises ValueError: when the variable is not a number
    """
    return seconds * float(os.environ.get(PATIENCE_VARIABLE) or 1)


def nova_prefix() -> pathlib.Path:
    """Returns the virtual environment with Nova and Placement."""
    return pathlib.Path(os.environ.get(NOVA_VARIABLE) or sys.prefix)


@dataclasses.dataclass(frozen=True)
class Settings:
    """An embedded cloud or a full cloud.

    :ivar pair: the cloud is a full cloud with two nodes of one kind, without
        Heat and Tacker
    """

    directory: pathlib.Path
    port_base: int
    plugin: bool
    guest: str = 'lxc'
    full: bool = False
    pair: bool = False

    @property
    def kind(self) -> guests.Kind:
        """Returns the kind of the cloud's guests."""
        return guests.KINDS[self.guest]

    @property
    def nodes(self) -> tuple[computes.Node, ...]:
        """Returns the compute nodes of the full cloud."""
        return computes.PAIR if self.pair else computes.KINDS

    @property
    def is_saved(self) -> bool:
        """Returns whether a cloud exists, whether it runs or not."""
        return _saved(self.directory).exists()

    @property
    def etc(self) -> pathlib.Path:
        """Returns the directory of configuration files."""
        return self.directory / 'etc'

    @property
    def log(self) -> pathlib.Path:
        """Returns the directory of logs."""
        return self.directory / 'log'

    @property
    def old_log(self) -> pathlib.Path:
        """Returns the directory of the logs of the cloud before this one."""
        return self.directory / 'log.1'

    @property
    def run(self) -> pathlib.Path:
        """Returns the directory of records of processes."""
        return self.directory / 'run'

    @property
    def data(self) -> pathlib.Path:
        """Returns the directory of the services' data."""
        return self.directory / 'data'

    @property
    def nova_conf(self) -> pathlib.Path:
        """Returns the path of nova.conf."""
        return self.etc / 'nova' / 'nova.conf'

    def compute_conf(self, node: str) -> pathlib.Path:
        """Returns the file that a nova-compute of the full cloud reads."""
        return self.nova_conf.with_name(f'nova-compute-{node}.conf')

    @property
    def database_url(self) -> str:
        """Returns SQLAlchemy's URL without the name of the database."""
        return f'mysql+pymysql://root@127.0.0.1:{self.port("mariadb")}'

    @property
    def rabbit_url(self) -> str:
        """Returns the URL of RabbitMQ for oslo.messaging."""
        return f'rabbit://guest:guest@127.0.0.1:{self.port("rabbitmq")}/'

    def port(self, service: str) -> int:
        """Returns the port of a service."""
        return self.port_base + (*SERVICES, *FULL_SERVICES).index(service)

    def url(self, service: str) -> str:
        """Returns the root of a service's API, which needs no token."""
        return f'http://127.0.0.1:{self.port(service)}'

    @property
    def auth_url(self) -> str:
        """Returns the URL of Keystone."""
        return f'{self.url("keystone")}/v3'

    def log_file(self, name: str) -> pathlib.Path:
        """Returns the path of a log."""
        return self.log / f'{name}.log'

    def environment(self) -> dict[str, str]:
        """Returns the environment of every process of the cloud."""
        return {
            **os.environ,
            DIR_VARIABLE: str(self.directory),
            MARK_VARIABLE: str(self.directory),
            # No service uses eventlet's resolver, which is slow to import.
            'EVENTLET_NO_GREENDNS': 'yes',
            'PATH': f'{nova_prefix()}/bin:{sys.prefix}/bin:'
                    f'{os.environ["PATH"]}',
            'OS_KEYSTONE_CONFIG_DIR': str(self.etc / 'keystone'),
            'OS_PLACEMENT_CONFIG_DIR': str(self.etc / 'placement'),
            'OS_GLANCE_CONFIG_DIR': str(self.etc / 'glance'),
            'OS_NEUTRON_CONFIG_DIR': str(self.etc / 'neutron'),
            'OS_NOVA_CONFIG_DIR': str(self.etc / 'nova'),
        }

    def save(self) -> None:
        """Saves the options of ``up`` for later commands."""
        kept = {'port_base': self.port_base, 'plugin': self.plugin,
                'guest': self.guest, 'full': self.full, 'pair': self.pair}
        _saved(self.directory).write_text(json.dumps(kept))


def _saved(directory: pathlib.Path) -> pathlib.Path:
    return directory / 'settings.json'


def load() -> Settings:
    """Returns the running cloud's settings, else those of the environment."""
    directory = pathlib.Path(
        os.environ.get(DIR_VARIABLE) or PROJECT / '.cloud').resolve()
    saved = _saved(directory)
    if saved.exists():
        return Settings(directory=directory, **json.loads(saved.read_text()))
    return Settings(
        directory=directory,
        port_base=int(os.environ.get(PORT_VARIABLE) or 15000),
        plugin=(os.environ.get(PLUGIN_VARIABLE) or '1') != '0')
