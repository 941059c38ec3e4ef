# SPDX-License-Identifier: Apache-2.0

"""Runs MariaDB and RabbitMQ of Debian's packages on data of the cloud.

Both programs listen on the loopback only, and do not use the machine's own
data.
"""

from collections.abc import Mapping
import pathlib
import subprocess

import amqp
from amqp import exceptions as amqp_exceptions
import pymysql

from cloud import settings

RABBITMQ = '/usr/lib/rabbitmq/bin/rabbitmq-server'
USER = 'guest'
_TIMEOUT = 5


def data(cloud: settings.Settings) -> pathlib.Path:
    """Returns the directory of MariaDB's files."""
    return cloud.data / 'mariadb'


def mariadb_version() -> str:
    """Returns the version of the installed MariaDB."""
    return subprocess.run(['mariadbd', '--version'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def mariadb(cloud: settings.Settings) -> list[str]:
    """Returns the command of the server; makes its system tables if needed."""
    common = ['--no-defaults', '--user=root', f'--datadir={data(cloud)}']
    if not data(cloud).exists():
        with cloud.log_file('mariadb').open('ab') as log:
            subprocess.run(
                ['mariadb-install-db', *common, '--skip-test-db',
                 '--auth-root-authentication-method=normal'],
                check=True, stdout=log, stderr=log)
    return ['mariadbd', *common, '--socket=mariadb.sock',
            '--bind-address=127.0.0.1', f'--port={cloud.port("mariadb")}',
            '--max-connections=500', '--character-set-server=utf8mb3',
            '--skip-log-bin', '--innodb-log-file-size=16M',
            # Committed data must survive the process, but not the machine.
            '--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=0']


def rabbitmq(cloud: settings.Settings) -> list[str]:
    """Returns the command of RabbitMQ."""
    (cloud.data / 'rabbitmq').mkdir(parents=True, exist_ok=True)
    return [RABBITMQ]


def rabbitmq_environment(cloud: settings.Settings) -> Mapping[str, str]:
    """Returns the environment that sets RabbitMQ's files, log and ports."""
    home = cloud.data / 'rabbitmq'
    return {
        'HOME': str(home),
        'RABBITMQ_NODENAME': 'nova-rt@localhost',
        'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
        'RABBITMQ_NODE_PORT': str(cloud.port('rabbitmq')),
        'RABBITMQ_DIST_PORT': str(cloud.port('erlang')),
        'RABBITMQ_MNESIA_BASE': str(home / 'mnesia'),
        'RABBITMQ_LOG_BASE': str(home / 'log'),
        'RABBITMQ_LOGS': '-',
        'RABBITMQ_PID_FILE': str(home / 'pid'),
        'RABBITMQ_ENABLED_PLUGINS_FILE': str(home / 'plugins'),
        'RABBITMQ_CONF_ENV_FILE': str(home / 'none'),
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS':
            '-kernel inet_dist_use_interface {127,0,0,1}',
        # The recorded process must be the server itself, without a shell.
        'RUNNING_UNDER_SYSTEMD': 'true',
        'ERL_EPMD_ADDRESS': '127.0.0.1',
        'ERL_EPMD_PORT': str(cloud.port('epmd')),
    }


def database(cloud: settings.Settings) -> pymysql.Connection:
    """Returns a connection to the server, which the caller must close."""
    return pymysql.connect(host='127.0.0.1', port=cloud.port('mariadb'),
                           user='root', connect_timeout=_TIMEOUT)


def mariadb_answers(cloud: settings.Settings) -> bool:
    """Returns whether MariaDB answers."""
    try:
        database(cloud).close()
    except pymysql.MySQLError:
        return False
    return True


def _broker(cloud: settings.Settings) -> amqp.Connection:
    return amqp.Connection(f'127.0.0.1:{cloud.port("rabbitmq")}', USER, USER,
                           connect_timeout=_TIMEOUT)


def rabbitmq_answers(cloud: settings.Settings) -> bool:
    """Returns whether RabbitMQ answers."""
    try:
        with _broker(cloud):
            return True
    except (OSError, amqp_exceptions.AMQPError):
        return False


def listens(cloud: settings.Settings, topic: str) -> bool:
    """Returns whether a service takes requests from the queue *topic*."""
    try:
        with _broker(cloud) as connection:
            queue = connection.channel().queue_declare(topic, passive=True)
            return bool(queue.consumer_count)
    except (OSError, amqp_exceptions.AMQPError):
        return False
