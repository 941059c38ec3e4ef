# SPDX-License-Identifier: Apache-2.0

"""Reads compute nodes and what their servers hold from Nova's databases.

The servers that Nova's own audit counts also count here: the servers of the
host, and both ends of the migrations in progress.  See
ResourceTracker._update_available_resource and _populate_assigned_resources.
"""

from collections.abc import Iterable, Iterator
import dataclasses
from typing import Any

from nova.compute import task_states
from nova.compute import vm_states
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims
from nova_rt.services.compute import vcpus
from rt_operate.manage.read import requested
from rt_operate.manage import snapshot

_ATTRIBUTES = ['system_metadata', 'flavor', 'migration_context', 'resources']

#: The task states in which Nova leaves the host and the claim of a server
#: alone.
_RESTING = frozenset((
    None, task_states.IMAGE_SNAPSHOT, task_states.IMAGE_SNAPSHOT_PENDING,
    task_states.IMAGE_PENDING_UPLOAD, task_states.IMAGE_UPLOADING,
    task_states.IMAGE_BACKUP, task_states.UPDATING_PASSWORD,
    task_states.REBOOTING, task_states.REBOOT_PENDING,
    task_states.REBOOT_STARTED, task_states.REBOOTING_HARD,
    task_states.REBOOT_PENDING_HARD, task_states.REBOOT_STARTED_HARD,
    task_states.PAUSING, task_states.UNPAUSING, task_states.SUSPENDING,
    task_states.RESUMING, task_states.POWERING_OFF, task_states.POWERING_ON,
    task_states.RESCUING, task_states.UNRESCUING))

_EVACUATION = 'evacuation'


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A compute node and the context of its cell."""

    context: Any
    compute: Any

    @property
    def name(self) -> str:
        """The name of the host."""
        return str(self.compute.host)


def contexts() -> list[Any]:
    """Returns a context for each cell that may have compute nodes."""
    admin = nova_context.get_admin_context()
    targeted = []
    for cell in objects.CellMappingList.get_all(admin):
        if not cell.is_cell0():
            context = nova_context.get_admin_context()
            nova_context.set_target_cell(context, cell)
            targeted.append(context)
    return targeted


def nodes(context: Any, host: str | None) -> list[Node]:
    """Returns the compute nodes of a cell.

    :param host: only the nodes of this host; None for all
    """
    return [Node(context, compute)
            for compute in objects.ComputeNodeList.get_all(context)
            if host in (None, compute.host)]


def is_moving(instance: Any) -> bool:
    """Tells whether Nova is moving, resizing, starting or ending a server."""
    return instance.task_state not in _RESTING or bool(instance.hidden)


def holdings(node: Node) -> list[snapshot.Holding]:
    """Returns the holdings of servers on a node, with both ends of moves."""
    compute = node.compute
    instances = {
        instance.uuid: instance for instance
        in objects.InstanceList.get_by_host_and_node(
            node.context, compute.host, compute.hypervisor_hostname,
            expected_attrs=_ATTRIBUTES)
        if not vm_states.allow_resource_removal(
            vm_state=instance.vm_state, task_state=instance.task_state)}
    moves = dict(_moves(node))
    result = [_own(node, instance, moves.get(uuid))
              for uuid, instance in instances.items()]
    for uuid, migration in moves.items():
        result += _far_end(node, migration, here=uuid in instances)
    return result


def _moves(node: Node) -> Iterator[tuple[str, Any]]:
    """Yields the migrations that Nova's audit counts, with their server."""
    newest: dict[str, Any] = {}
    for migration in objects.MigrationList.get_in_progress_and_error(
            node.context, node.compute.host,
            node.compute.hypervisor_hostname):
        previous = newest.get(migration.instance_uuid)
        if previous is None or _time(migration) > _time(previous):
            newest[migration.instance_uuid] = migration
    for uuid, migration in newest.items():
        instance = _instance(node.context, uuid)
        if instance is None or instance.migration_context is None:
            continue
        migration.instance = instance
        if (instance.migration_context.migration_id == migration.id
                and _counts(instance)):
            yield uuid, migration


def _time(migration: Any) -> Any:
    return migration.updated_at or migration.created_at


def _instance(context: Any, uuid: str) -> Any:
    try:
        return objects.Instance.get_by_uuid(context, uuid,
                                            expected_attrs=_ATTRIBUTES)
    except nova_exception.InstanceNotFound:
        return None


def _counts(instance: Any) -> bool:
    """Tells whether Nova's resource tracker counts the claim of a move.

    See _instance_in_resize_state and _instance_is_live_migrating in the
    tracker.
    """
    vm, task = instance.vm_state, instance.task_state
    return bool(
        vm == vm_states.RESIZED
        or (vm in (vm_states.ACTIVE, vm_states.STOPPED)
            and task in (task_states.resizing_states
                         + task_states.rebuild_states))
        or (vm in (vm_states.ACTIVE, vm_states.PAUSED)
            and task == task_states.MIGRATING))


def _own(node: Node, instance: Any, migration: Any) -> snapshot.Holding:
    """Returns the holding of a server whose record names this node."""
    resources = instance.resources
    if (migration is not None and _ends(node, migration)
            and not _starts(node, migration)):
        # Until the move is finished, only its context has the new claim.
        resources = migration.instance.migration_context.new_resources
    return _holding(instance, instance.uuid, instance.flavor, resources,
                    _is_under_way(instance, migration))


def _far_end(node: Node, migration: Any, here: bool
             ) -> Iterator[snapshot.Holding]:
    """Yields the holdings of a move, except the one that ``_own`` returns.

    :param here: whether the record of the server names this node
    """
    instance = migration.instance
    context = instance.migration_context
    moving = _is_under_way(instance, migration)
    evacuation = migration.migration_type == _EVACUATION
    if _starts(node, migration) and (not here or _ends(node, migration)):
        consumer = instance.uuid if evacuation else migration.uuid
        flavor = instance.old_flavor or instance.flavor
        old = context.old_resources
        if not (here and _same(old, instance.resources)):
            yield _holding(instance, consumer, flavor, old, moving)
    if _ends(node, migration) and (not here or _starts(node, migration)):
        flavor = instance.new_flavor or instance.flavor
        new = context.new_resources
        if not (here and _same(new, instance.resources)):
            yield _holding(instance, instance.uuid, flavor, new, moving)


def _starts(node: Node, migration: Any) -> bool:
    return (migration.source_compute, migration.source_node) == (
        node.compute.host, node.compute.hypervisor_hostname)


def _ends(node: Node, migration: Any) -> bool:
    return (migration.dest_compute, migration.dest_node) == (
        node.compute.host, node.compute.hypervisor_hostname)


def _same(one: Iterable[Any] | None, other: Iterable[Any] | None) -> bool:
    """Tells whether two lists of claims are equal as sets, as in Nova."""
    return set(one or ()) == set(other or ())


def _is_under_way(instance: Any, migration: Any) -> bool:
    return is_moving(instance) or (
        migration is not None
        and migration.status not in ('finished', 'error'))


def _holding(instance: Any, consumer: str, flavor: Any,
             resources: Iterable[Any] | None, moving: bool
             ) -> snapshot.Holding:
    readable: list[claims.RTClaim] = []
    unreadable, providers = [], set()
    for resource in resources or ():
        if resource.resource_class != hostmap.RESOURCE_CLASS:
            continue
        try:
            readable.append(claims.RTClaim.parse(resource.identifier))
            providers.add(str(resource.provider_uuid))
        except exception.InvalidClaim:
            unreadable.append(str(resource.identifier))
    wanted, trouble = requested.reservation_of(instance, flavor, readable)
    unreserved: tuple[int, ...] = ()
    if wanted is not None:
        try:
            unreserved = vcpus.split(flavor).unreserved
        except exception.InvalidReservation as error:
            wanted, trouble = None, exception.clause(error)
    return snapshot.Holding(
        instance.uuid, consumer, flavor.vcpus, wanted, tuple(readable),
        frozenset(providers), tuple(unreadable), trouble, moving, unreserved)
