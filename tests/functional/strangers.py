# SPDX-License-Identifier: Apache-2.0

"""Guests that run and that Nova's database has lost."""

from typing import Any

from nova import context as nova_context
from nova.db.main import api as main_db
from nova.db.main import models
from nova.scheduler.client import report
from oslo_utils import uuidutils

from tests.functional import base


def lose(case: base.TestCase, server: dict[str, Any]) -> Any:
    """A backup from before the server is restored; its domain."""
    domain, context = case.domain(server), case.cell_context()
    with main_db.get_context_manager(context).writer.using(
            context) as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            if table.name == 'instances':
                # Its number is not given again: libvirt has its name.
                session.execute(table.update().where(
                    table.c.uuid == server['id']).values(
                        uuid=uuidutils.generate_uuid(), deleted=1))
            elif 'instance_uuid' in table.c:
                session.execute(table.delete().where(
                    table.c.instance_uuid == server['id']))
    report.report_client_singleton().delete_allocation_for_instance(
        nova_context.get_admin_context(), server['id'], force=True)
    return domain
