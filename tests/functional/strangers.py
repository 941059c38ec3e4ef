# SPDX-License-Identifier: Apache-2.0

"""Guests that run but that Nova's database has lost, or has elsewhere."""

import dataclasses
from typing import Any

from nova import context as nova_context
from nova.db.main import api as main_db
from nova.db.main import models
from nova.scheduler.client import report
from oslo_utils import uuidutils

from tests.functional import base


def lose(case: base.TestCase, server: dict[str, Any]) -> Any:
    """Restores a backup from before the server; returns its domain."""
    domain, context = case.domain(server), case.cell_context()
    with main_db.get_context_manager(context).writer.using(
            context) as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            if table.name == 'instances':
                # The number is not used again, because libvirt has a domain of
                # that name.
                session.execute(table.update().where(
                    table.c.uuid == server['id']).values(
                        uuid=uuidutils.generate_uuid(), deleted=1))
            elif 'instance_uuid' in table.c:
                session.execute(table.delete().where(
                    table.c.instance_uuid == server['id']))
    report.report_client_singleton().delete_allocation_for_instance(
        nova_context.get_admin_context(), server['id'], force=True)
    return domain


@dataclasses.dataclass(frozen=True)
class Backup:
    """The rows of one server in the databases.

    :ivar rows: the rows of Nova, by table
    :ivar allocations: the allocations of Placement, by provider
    """

    rows: dict[str, list[dict[str, Any]]]
    allocations: dict[str, Any]


def back_up(case: base.TestCase, server: dict[str, Any]) -> Backup:
    """Copies a server's rows from the databases of Nova and Placement."""
    context = case.cell_context()
    with main_db.get_context_manager(context).reader.using(
            context) as session:
        rows = {table.name: [dict(row) for row in session.execute(
            table.select().where(column == server['id'])).mappings()]
            for table, column in _tables()}
    found = report.report_client_singleton().get_allocs_for_consumer(
        nova_context.get_admin_context(), server['id'])
    return Backup(rows, found['allocations'])


def restore(case: base.TestCase, server: dict[str, Any], backup: Backup
            ) -> None:
    """Restores the server in both databases as it was then."""
    context = case.cell_context()
    with main_db.get_context_manager(context).writer.using(
            context) as session:
        tables = list(_tables())
        for table, column in reversed(tables):
            session.execute(table.delete().where(column == server['id']))
        for table, _ in tables:
            for row in backup.rows[table.name]:
                session.execute(table.insert().values(**row))
    _restore_allocations(server, backup)


def _tables() -> Any:
    """Yields the tables of Nova that know servers, parents first."""
    for table in models.BASE.metadata.sorted_tables:
        if table.name == 'instances':
            yield table, table.c.uuid
        elif 'instance_uuid' in table.c:
            yield table, table.c.instance_uuid


def _restore_allocations(server: dict[str, Any], backup: Backup) -> None:
    client, context = (report.report_client_singleton(),
                       nova_context.get_admin_context())
    found = client.get_allocs_for_consumer(context, server['id'])
    found['allocations'] = {
        provider: {'resources': each['resources']}
        for provider, each in backup.allocations.items()}
    assert client.put_allocations(context, server['id'], found)
