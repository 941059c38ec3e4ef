# SPDX-License-Identifier: Apache-2.0

"""Finds out why a consumer that is not on a host holds an allocation there.

In most cases the allocation is right: a server is being scheduled or moved, or
it was evacuated and keeps both allocations until its old host returns.
"""

from collections.abc import Sequence
from typing import Any

from nova.compute import vm_states
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from rt_operate.manage.read import cells
from rt_operate.manage import snapshot

#: The final statuses of migrations, as in
#: migration_get_in_progress_by_host_and_node.
_OVER = frozenset(('confirmed', 'reverted', 'error', 'failed', 'completed',
                   'cancelled', 'done'))
#: The statuses of live migrations that have moved nothing yet.
_PREPARED = frozenset(('accepted', 'queued', 'preparing'))
#: The statuses of evacuations whose old host has not cleaned up yet, as in
#: ComputeManager._destroy_evacuated_instances.
_EVACUATED = ['accepted', 'pre-migrating', 'done']


def fate(contexts: Sequence[Any], consumer: str, node: cells.Node
         ) -> snapshot.Fate:
    """Returns what has become of a consumer that holds nothing on *node*."""
    for context in contexts:
        instance = _instance(context, consumer)
        if instance is not None:
            return _instance_fate(context, instance, node)
        migration = _migration(context, consumer)
        if migration is not None:
            return _migration_fate(context, migration)
    if _is_requested(consumer):
        return snapshot.Fate.EXPECTED
    return snapshot.Fate.GONE


def _instance(context: Any, uuid: str) -> Any:
    try:
        return objects.Instance.get_by_uuid(context, uuid, expected_attrs=[])
    except nova_exception.InstanceNotFound:
        return None


def _migration(context: Any, uuid: str) -> Any:
    try:
        return objects.Migration.get_by_uuid(context, uuid)
    except nova_exception.MigrationNotFound:
        return None


def _is_requested(uuid: str) -> bool:
    """Tells whether a server waits for the scheduler and is in no cell yet."""
    try:
        objects.BuildRequest.get_by_instance_uuid(
            nova_context.get_admin_context(), uuid)
    except nova_exception.BuildRequestNotFound:
        return False
    return True


def _instance_fate(context: Any, instance: Any, node: cells.Node
                   ) -> snapshot.Fate:
    if cells.is_moving(instance) or instance.vm_state == vm_states.BUILDING:
        return snapshot.Fate.EXPECTED
    moves = objects.MigrationList.get_by_filters(
        context, {'instance_uuid': instance.uuid})
    if any(_keeps(migration, node) for migration in moves):
        return snapshot.Fate.EXPECTED
    return snapshot.Fate.ELSEWHERE


def _keeps(migration: Any, node: cells.Node) -> bool:
    """Tells whether a migration of a server may hold something on *node*."""
    if (migration.migration_type == 'evacuation'
            and migration.source_compute == node.compute.host):
        return migration.status in _EVACUATED
    # A finished migration waits for confirmation.  Its server is where it
    # belongs and is compared as a holding.
    return _goes_on(migration) and migration.status != 'finished'


def _goes_on(migration: Any) -> bool:
    """Checks whether Nova may be working on a migration of an idle server.

    A live migration with the status "preparing" is not in progress if its
    server is idle: a server in a live migration has the task state of a
    migration.  The migration keeps this status forever if the source host
    failed while the migration was prepared.
    """
    given_up = (migration.migration_type == 'live-migration'
                and migration.status in _PREPARED)
    return not given_up and migration.status not in _OVER


def _migration_fate(context: Any, migration: Any) -> snapshot.Fate:
    instance = _instance(context, migration.instance_uuid)
    if instance is None:
        return snapshot.Fate.GONE
    if cells.is_moving(instance) or _goes_on(migration):
        return snapshot.Fate.EXPECTED
    # If a move failed half-way, it is not known what the server needs.
    settled = instance.vm_state not in (vm_states.ERROR, vm_states.RESIZED)
    return snapshot.Fate.GONE if settled else snapshot.Fate.ELSEWHERE
