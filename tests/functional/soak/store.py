# SPDX-License-Identifier: Apache-2.0

"""The cell database: all that was saved, and nothing that was not saved."""

import copy
import datetime
from typing import Any

import fixtures
from nova import exception as nova_exception
from nova import objects

_ENDED = ('confirmed', 'reverted', 'failed', 'completed', 'cancelled', 'done')
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Store(fixtures.Fixture):
    """Stands below Nova's objects; every load is a copy.

    :ivar instances: by uuid
    :ivar migrations: by id
    :ivar nodes: by uuid
    """

    def __init__(self, context: Any) -> None:
        super().__init__()
        self.context = context
        self.instances: dict[str, Any] = {}
        self.migrations: dict[int, Any] = {}
        self.nodes: dict[str, Any] = {}
        self._saves = 0

    def _setUp(self) -> None:
        for name, new in (
                ('Instance.save', self._save_instance),
                ('Instance.drop_migration_context', self._drop_context),
                ('Migration.save', self._save_migration),
                ('Migration.create', self._create_migration),
                ('ComputeNode.save', self._save_node),
                ('ComputeNode.create', self._create_node)):
            self._patch(name, lambda it, *args, _new=new, **kwargs: _new(it))
        for name, new in (
                ('Instance.get_by_uuid', self._instance),
                ('InstanceList.get_by_host_and_node', self._host_instances),
                ('InstanceList.get_by_filters', self._in_state),
                ('Migration.get_by_id', self._move),
                ('MigrationList.get_in_progress_and_error', self._moves),
                ('ComputeNode.get_by_uuid', self._node),
                ('PciDeviceList.get_by_compute_node',
                 lambda *args: objects.PciDeviceList()),
                ('InstanceMapping.get_by_instance_uuid', _no_mapping),
                ('Service.get_by_compute_host', _service)):
            self._patch(name, lambda cls, *args, _new=new, **kwargs: _new(
                *args, **kwargs))

    def _patch(self, name: str, new: Any) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            f'nova.objects.{name}', new))

    def _now(self) -> datetime.datetime:
        self._saves += 1
        return _START + datetime.timedelta(seconds=self._saves)

    # Instances.

    def _save_instance(self, instance: Any) -> None:
        """Saves only what was changed, as Nova does."""
        stored = self.instances[instance.uuid]
        for name in instance.obj_what_changed():
            setattr(stored, name, copy.deepcopy(getattr(instance, name)))
        instance.obj_reset_changes(recursive=True)

    def _drop_context(self, instance: Any) -> None:
        if instance.migration_context:
            self.instances[instance.uuid].migration_context = None
            instance.migration_context = None

    def add(self, instance: Any) -> None:
        self.instances[instance.uuid] = copy.deepcopy(instance)

    def load(self, uuid: str) -> Any:
        stored = self.instances[uuid]
        # Nobody changes these objects, and copies of them would take most of
        # the time.
        shared = (stored.flavor, stored.old_flavor, stored.new_flavor,
                  stored.pci_requests, stored.pci_devices)
        found = copy.deepcopy(stored, {id(each): each for each in shared})
        found.obj_reset_changes(recursive=True)
        return found

    def _instance(self, context: Any, uuid: str, **kwargs: Any) -> Any:
        if uuid not in self.instances:
            raise nova_exception.InstanceNotFound(instance_id=uuid)
        return self.load(uuid)

    def _host_instances(self, context: Any, host: str, node: str, **kwargs: Any
                        ) -> Any:
        return objects.InstanceList(objects=[
            self.load(uuid) for uuid, each in self.instances.items()
            if each.host == host])

    def _in_state(self, context: Any, filters: dict[str, Any],
                  **kwargs: Any) -> Any:
        return objects.InstanceList(objects=[
            self.load(uuid) for uuid, each in self.instances.items()
            if each.task_state == filters['task_state']])

    # Migrations.

    def _move(self, context: Any, number: int) -> Any:
        return copy.copy(self.migrations[number])

    def _create_migration(self, migration: Any) -> None:
        migration.id = len(self.migrations) + 1
        self._save_migration(migration)

    def _save_migration(self, migration: Any) -> None:
        migration.updated_at = self._now()
        stored = copy.copy(migration)
        vars(stored).pop('_cached_instance', None)
        self.migrations[migration.id] = stored
        migration.obj_reset_changes()

    def _moves(self, context: Any, host: str, node: str) -> Any:
        return objects.MigrationList(objects=[
            copy.copy(each) for each in self.migrations.values()
            if host in (each.source_compute, each.dest_compute)
            and each.status not in _ENDED])

    # Compute nodes.

    def _create_node(self, node: Any) -> None:
        node.id, node.deleted = len(self.nodes) + 1, False
        self._save_node(node)

    def _save_node(self, node: Any) -> None:
        node.updated_at = self._now()
        self.nodes[node.uuid] = copy.deepcopy(node)
        node.obj_reset_changes()

    def _node(self, context: Any, uuid: str) -> Any:
        if uuid not in self.nodes:
            raise nova_exception.ComputeHostNotFound(host=uuid)
        return copy.deepcopy(self.nodes[uuid])


def _no_mapping(*args: Any) -> Any:
    raise nova_exception.InstanceMappingNotFound(uuid='?')


def _service(context: Any, host: str) -> Any:
    return objects.Service(host=host, disabled=False)
