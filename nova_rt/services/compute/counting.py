# SPDX-License-Identifier: Apache-2.0

"""Decides which claims count on a host, also claims that audits miss.

Nova's audit looks at the servers of its host and at migrations in progress.
In the middle of a move there may be a moment at which neither shows the claim:
Nova may have ended the record of the move before the server is back, or may
have changed the state of the server before its host.  Nova also ignores an
evacuation if the server is in state ERROR.

The rule is that a claim that is stored with a server counts on its host while

* the server is on that host,
* the server is under way from or to that host, or
* the guest of the server runs on that host.

The rule does not depend on the contents of a claim, so a claim that cannot be
read counts, too.
"""

from collections.abc import Collection
from typing import Any

from nova.compute import task_states
from nova.compute import vm_states
from nova import exception
from nova import objects
from nova.objects import fields

from nova_rt.rules import hostmap

_RESIZING = (*task_states.resizing_states, task_states.RESIZE_REVERTING,
             task_states.RESIZE_CONFIRMING)
_MOVING = (*_RESIZING, *task_states.rebuild_states, task_states.MIGRATING)
#: The states of a migration that has ended.  A migration is 'reverted' even
#: before the last step of its revert.
_ENDED = ('cancelled', 'completed', 'confirmed', 'done', 'error', 'failed')
_REVERTED = 'reverted'


def is_resizing(instance: Any) -> bool:
    """Checks whether Nova is about to replace the guest of a server."""
    return instance.task_state in _RESIZING


def migration_of(instance: Any) -> Any:
    """Returns the migration of a server's migration context, or None."""
    if instance.migration_context is None:
        return None
    try:
        return objects.Migration.get_by_id(
            instance._context, instance.migration_context.migration_id)
    except exception.MigrationNotFound:
        return None


def is_under_way(instance: Any, migration: Any) -> bool:
    """Checks whether a server is under way from one host to another.

    :param migration: the migration of its migration context
    """
    if migration is None:
        # Nova drops the context before the last step of a live migration.
        return bool(instance.task_state == task_states.MIGRATING)
    if migration.status == _REVERTED:
        return bool(instance.task_state == task_states.RESIZE_REVERTING)
    if migration.status in _ENDED:
        return False
    return bool(migration.migration_type == fields.MigrationType.EVACUATION
                or instance.vm_state == vm_states.RESIZED
                or instance.task_state in _MOVING)


def is_over(instance: Any) -> bool:
    """Checks whether no operation of Nova on a server is under way."""
    return bool(instance.deleted or (
        instance.task_state is None
        and not is_under_way(instance, migration_of(instance))))


def instance(context: Any, uuid: str) -> Any:
    """Returns a server as it is stored, also a deleted one, or None."""
    try:
        return objects.Instance.get_by_uuid(
            context.elevated(read_deleted='yes'), uuid, expected_attrs=[
                'flavor', 'resources', 'system_metadata',
                'migration_context'])
    except exception.InstanceNotFound:
        return None


def server_of(resource: Any) -> str:
    """Returns the uuid of the server of a claim, readable or not."""
    return str(resource.identifier).partition('/')[0]


def resources(instance: Any, host: str, providers: Collection[str],
              runs: bool) -> list[Any]:
    """Returns the claims of a server that count on a host.

    :param instance: as it is stored now, with its resources and its
        migration context
    :param providers: uuids of the compute nodes of the host
    :param runs: whether a guest of the server runs on the host
    :returns: objects.Resource; a claim may occur twice
    """
    if instance.deleted or vm_states.allow_resource_removal(
            instance.vm_state, instance.task_state):
        # Nova has stopped counting the server and would not release a claim
        # that is added again.
        return []
    migration = migration_of(instance)
    moves = is_under_way(instance, migration)
    candidates: list[Any] = []
    if instance.host == host or moves or runs:
        candidates.extend(instance.resources or ())
    if (moves or runs) and instance.migration_context is not None:
        candidates.extend(instance.migration_context.old_resources or ())
        if migration is None or migration.status != _REVERTED:
            candidates.extend(instance.migration_context.new_resources or ())
    return [resource for resource in candidates
            if resource.resource_class == hostmap.RESOURCE_CLASS
            and resource.provider_uuid in providers]


def servers_under_way(context: Any, host: str, node: str) -> set[str]:
    """Returns the uuids of servers elsewhere that may have a claim here.

    nova-compute needs these servers when it starts; later it remembers the
    claims.
    """
    moving = objects.MigrationList.get_in_progress_and_error(
        context, host, node)
    # Nova counts the migrations of these servers as ended.
    reverting = objects.InstanceList.get_by_filters(
        context, {'task_state': task_states.RESIZE_REVERTING,
                  'deleted': False}, expected_attrs=[])
    return {*(migration.instance_uuid for migration in moving),
            *(server.uuid for server in reverting)}
