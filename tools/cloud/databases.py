# SPDX-License-Identifier: Apache-2.0

"""Creates the databases, each inside the process that will use it.

A ``*-manage`` command for each database would cost seconds of imports.  Other
modules decide what is written to the databases; kept.py copies those of an
earlier cloud.
"""

import sqlite3
import threading

from oslo_utils import uuidutils
import sqlalchemy
from sqlalchemy import event
from sqlalchemy import orm

from cloud import kept
from cloud import settings

# The connection by which this thread holds the lock of a database, by URL.
_lock_holders = threading.local()


def serialise_transactions() -> None:
    """Makes every SQLite transaction take the write lock when it begins.

    A transaction that reads first and writes later fails at once with
    "database is locked" if another transaction wrote in between.  Nova and
    Placement retry only after the deadlocks that other databases report.
    A transaction that waits for the lock when it begins cannot fail in this
    way.
    """
    event.listen(sqlalchemy.Engine, 'connect', _use_write_ahead_log)
    event.listen(sqlalchemy.Engine, 'before_cursor_execute', _take_lock,
                 retval=True)


def _use_write_ahead_log(connection: sqlite3.Connection,
                         record: object) -> None:
    """Lets readers see the last commit while another connection writes."""
    connection.execute('PRAGMA journal_mode = WAL')


def _take_lock(connection: sqlalchemy.Connection, cursor: object,
               statement: str, parameters: object, context: object,
               executemany: bool) -> tuple[str, object]:
    if statement == 'BEGIN' and not _is_nested(connection):
        statement = 'BEGIN IMMEDIATE'
    return statement, parameters


def _is_nested(connection: sqlalchemy.Connection) -> bool:
    """Returns whether this thread already holds the lock of this database.

    Placement, for example, reads in one transaction while another transaction
    of the same thread is open, and would wait for itself.
    """
    url = str(connection.engine.url)
    holder = vars(_lock_holders).get(url)
    if holder is not None and not holder.closed and holder.in_transaction():
        return True
    vars(_lock_holders)[url] = connection
    return False


def keystone() -> None:
    """Creates the database of Keystone."""
    from keystone.common.sql import upgrades
    upgrades.offline_sync_database_to_version()


def glance() -> None:
    """Creates the database of Glance."""
    from glance.db.sqlalchemy import api
    from glance.db.sqlalchemy import models
    models.register_models(api.get_engine())


def neutron(cloud: settings.Settings, complete: bool) -> None:
    """Creates the tables from the models, as migrations fail on SQLite.

    All models are loaded, because listing ports needs the backref of a model
    that only an L3 plugin would load.

    :param complete: whether the database has all tables
    """
    from neutron.db.migration.models import head
    if not complete:
        engine = sqlalchemy.create_engine(f'sqlite:///{cloud.data}/neutron.db')
        head.get_metadata().create_all(engine)
        engine.dispose()
    orm.configure_mappers()


def nova(cloud: settings.Settings) -> None:
    """Creates the databases of the API and both cells, and maps the cells."""
    if kept.restore(cloud, 'nova'):
        return
    _create_nova(cloud)
    kept.keep(cloud, 'nova')


def _create_nova(cloud: settings.Settings) -> None:
    from nova.conf import CONF
    from nova import context
    from nova.db import migration
    from nova import objects
    admin = context.get_admin_context()
    migration.db_sync(database='api')
    migration.db_sync(database='main')
    if objects.CellMappingList.get_all(admin):
        return
    cell0 = objects.CellMapping(
        admin, uuid=objects.CellMapping.CELL0_UUID, name='cell0',
        transport_url='none:///',
        database_connection=f'sqlite:///{cloud.data}/nova_cell0.db')
    with context.target_cell(admin, cell0) as in_cell0:
        migration.db_sync(database='main', context=in_cell0)
    cell0.create()
    objects.CellMapping(
        admin, uuid=uuidutils.generate_uuid(), name='cell1',
        transport_url=CONF.transport_url,
        database_connection=CONF.database.connection).create()
