# SPDX-License-Identifier: Apache-2.0

"""Which claims count on a host, whatever Nova's audit sees: one rule.

Nova's audit looks at the servers of its host and at migrations in progress.
In the middle of a move there are moments at which neither shows the claim:
Nova has ended the record of the move before the server is back, has changed
the state of the server before its host, or never takes note of an evacuation
because the server is in state ERROR.

The rule: a claim that is stored with a server counts on its host while

* the server is there,
* the server is under way from or to there, or
* the guest of the server runs there.

It says nothing of what is in a claim, so one that cannot be read counts too.
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
#: What Nova says of a migration that has ended; before the last step of a
#: revert already 'reverted'.
_ENDED = ('cancelled', 'completed', 'confirmed', 'done', 'error', 'failed')
_REVERTED = 'reverted'


def is_resizing(instance: Any) -> bool:
    """Whether Nova is about to replace the guest of a server."""
    return instance.task_state in _RESIZING


def migration_of(instance: Any) -> Any:
    """The migration of a server's migration context; None without one."""
    if instance.migration_context is None:
        return None
    try:
        return objects.Migration.get_by_id(
            instance._context, instance.migration_context.migration_id)
    except exception.MigrationNotFound:
        return None


def is_under_way(instance: Any, migration: Any) -> bool:
    """Whether a server is on its way from one host to another.

    :param migration: that of its migration context
    """
    if migration is None:
        # The last step of a live migration comes after that of its context.
        return bool(instance.task_state == task_states.MIGRATING)
    if migration.status == _REVERTED:
        return bool(instance.task_state == task_states.RESIZE_REVERTING)
    if migration.status in _ENDED:
        return False
    return bool(migration.migration_type == fields.MigrationType.EVACUATION
                or instance.vm_state == vm_states.RESIZED
                or instance.task_state in _MOVING)


def is_over(instance: Any) -> bool:
    """Whether Nova has done all it wanted to do with a server, for now."""
    return bool(instance.deleted or (
        instance.task_state is None
        and not is_under_way(instance, migration_of(instance))))


def instance(context: Any, uuid: str) -> Any:
    """A server as it is stored now, or was; None where there is none."""
    try:
        return objects.Instance.get_by_uuid(
            context.elevated(read_deleted='yes'), uuid, expected_attrs=[
                'flavor', 'resources', 'system_metadata',
                'migration_context'])
    except exception.InstanceNotFound:
        return None


def server_of(resource: Any) -> str:
    """The uuid of the server that holds a claim, readable or not."""
    return str(resource.identifier).partition('/')[0]


def resources(instance: Any, host: str, providers: Collection[str],
              runs: bool) -> list[Any]:
    """The claims of a server that count on a host, as objects.Resource.

    :param instance: as it is stored now, with resources, migration_context
    :param providers: uuids of the compute nodes of the host
    :param runs: whether a guest of it runs there
    :returns: some of them twice
    """
    if instance.deleted or vm_states.allow_resource_removal(
            instance.vm_state, instance.task_state):
        # Nova does not release again what it has no longer counted.
        return []
    migration = migration_of(instance)
    moves = is_under_way(instance, migration)
    held: list[Any] = []
    if instance.host == host or moves or runs:
        held.extend(instance.resources or ())
    if (moves or runs) and instance.migration_context is not None:
        held.extend(instance.migration_context.old_resources or ())
        if migration is None or migration.status != _REVERTED:
            held.extend(instance.migration_context.new_resources or ())
    return [each for each in held
            if each.resource_class == hostmap.RESOURCE_CLASS
            and each.provider_uuid in providers]


def servers_under_way(context: Any, host: str, node: str) -> set[str]:
    """Uuids of servers that may have a claim here and be elsewhere.

    This is for a nova-compute that starts: later it remembers them.
    """
    moving = objects.MigrationList.get_in_progress_and_error(
        context, host, node)
    # The migrations of these have ended, in the words of Nova.
    reverting = objects.InstanceList.get_by_filters(
        context, {'task_state': task_states.RESIZE_REVERTING,
                  'deleted': False}, expected_attrs=[])
    return {*(each.instance_uuid for each in moving),
            *(each.uuid for each in reverting)}
