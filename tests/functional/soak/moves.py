# SPDX-License-Identifier: Apache-2.0

"""Servers that change their host or their reservation."""

from collections.abc import Iterable
from typing import Any
import uuid as uuidlib

from nova.compute import task_states
from nova.compute import vm_states
from nova import exception as nova_exception
from nova import objects

from tests.functional.soak import cloud
from tests.functional.soak import hosts

_EVACUATED = ('accepted', 'pre-migrating', 'done')


class Cloud(cloud.Cloud):
    """All servers that Nova moves."""

    def _migration(self, instance: Any, kind: str, status: str, new: Any
                   ) -> Any:
        migration = objects.Migration(
            context=self.context, instance_uuid=instance.uuid,
            uuid=str(uuidlib.uuid5(
                uuidlib.UUID(instance.uuid),
                str(len(self.store.migrations)))),
            source_compute=instance.host, source_node=instance.node,
            dest_compute=None, dest_node=None, migration_type=kind,
            status=status, hidden=False,
            old_instance_type_id=instance.flavor.id,
            new_instance_type_id=new.id, cross_cell_move=False)
        migration.create()
        return migration

    def move_of(self, uuid: str) -> Any:
        """The finished migration of a resized server."""
        return next(each for each in reversed(self.store.migrations.values())
                    if each.instance_uuid == uuid
                    and each.status == 'finished')

    def _places(self, uuid: str, wish: cloud.Wish, scheduler: int,
                ignore: Iterable[str]) -> Any:
        """The hosts to try, each with its allocations."""
        spec, found = self.select(scheduler, wish, [uuid], ignore)
        for number, chosen in enumerate(found[0]):
            if number and not self._allocate(uuid, spec, chosen):
                continue
            yield self.hosts[chosen.service_host]
            # The claim was refused there.
            self.placement.held.get(uuid, {}).pop(
                chosen.compute_node_uuid, None)

    def _claimed(self, uuid: str, wish: cloud.Wish, scheduler: int,
                 ignore: Iterable[str], claim: Any) -> hosts.Host | None:
        """Returns the first host that accepts *claim*."""
        try:
            for host in self._places(uuid, wish, scheduler, ignore):
                try:
                    claim(host)
                except nova_exception.ComputeResourcesUnavailable:
                    continue
                return host
        except nova_exception.NoValidHost:
            pass
        return None

    # Resize and cold migration.

    def resize(self, uuid: str, wish: cloud.Wish, scheduler: int,
               ignore: Iterable[str]) -> set[str]:
        """Moves a server to another reservation, or only to another host."""
        instance = self.store.load(uuid)
        source, old = self.hosts[instance.host], self.wishes[uuid]
        flavor, was = wish.flavor(), instance.vm_state
        kind = 'migration' if wish == old else 'resize'
        migration = self._migration(instance, kind, 'pre-migrating', flavor)
        self.placement.move_allocations(self.context, uuid, migration.uuid)
        instance.old_flavor, instance.new_flavor = instance.flavor, flavor
        instance.system_metadata['old_vm_state'] = was
        instance.task_state = task_states.RESIZE_PREP
        instance.save()

        def claim(host: hosts.Host) -> None:
            host.rt.resize_claim(
                self.context, instance, flavor, host.name, migration,
                self.allocations(uuid), image_meta=instance.image_meta)

        target = self._claimed(uuid, wish, scheduler, ignore, claim)
        if target is None:
            self._back(instance, migration, 'error')
            return {source.name}
        self._finish_resize(instance, migration, source, target)
        self.wishes[migration.uuid] = old
        self.wishes[uuid] = wish
        return {source.name, target.name}

    def _back(self, instance: Any, migration: Any, status: str) -> None:
        """The server stays where it is; Placement gives it the source back."""
        self.placement.move_allocations(
            self.context, migration.uuid, instance.uuid)
        instance.old_flavor = instance.new_flavor = None
        instance.task_state = None
        instance.save()
        migration.status = status
        migration.save()

    def _finish_resize(self, instance: Any, migration: Any,
                       source: hosts.Host, target: hosts.Host) -> None:
        uuid = instance.uuid
        migration.status = 'migrating'
        migration.save()
        instance.task_state = task_states.RESIZE_MIGRATING
        instance.save()
        source.power_off(uuid)
        migration.status = 'post-migrating'
        migration.save()
        self._place(instance, target)
        instance.task_state = task_states.RESIZE_MIGRATED
        instance.save()
        self._flavored(instance, instance.new_flavor)
        instance.apply_migration_context()
        instance.task_state = task_states.RESIZE_FINISH
        instance.save()
        if instance.system_metadata['old_vm_state'] == vm_states.ACTIVE:
            target.spawn(uuid, instance.flavor.vcpus)
        migration.status = 'finished'
        migration.save()
        instance.vm_state, instance.task_state = vm_states.RESIZED, None
        instance.save()

    def _place(self, instance: Any, host: hosts.Host) -> None:
        instance.host = instance.node = host.name
        instance.compute_id = host.rt.compute_nodes[host.name].id

    def _flavored(self, instance: Any, flavor: Any) -> None:
        instance.flavor, instance.instance_type_id = flavor, flavor.id
        instance.vcpus = flavor.vcpus

    def confirm(self, uuid: str) -> set[str]:
        instance, migration = self.store.load(uuid), self.move_of(uuid)
        source = self.hosts[migration.source_compute]
        if source.name != instance.host:
            source.destroy(uuid)
        source.rt.drop_move_claim_at_source(
            self.context, instance, migration)
        instance.vm_state = instance.system_metadata['old_vm_state']
        instance.save()
        self.placement.delete_allocation_for_instance(
            self.context, migration.uuid)
        instance.old_flavor = instance.new_flavor = None
        instance.save()
        return {source.name, instance.host}

    def revert(self, uuid: str) -> set[str]:
        instance, migration = self.store.load(uuid), self.move_of(uuid)
        target = self.hosts[instance.host]
        source = self.hosts[migration.source_compute]
        instance.task_state = task_states.RESIZE_REVERTING
        instance.save()
        target.destroy(uuid)
        target.rt.drop_move_claim_at_dest(self.context, instance, migration)
        instance = self.store.load(uuid)
        self._flavored(instance, instance.old_flavor)
        instance.old_flavor = instance.new_flavor = None
        self._place(instance, source)
        instance.save()
        self.placement.move_allocations(self.context, migration.uuid, uuid)
        was = instance.system_metadata['old_vm_state']
        if was == vm_states.ACTIVE:
            source.spawn(uuid, instance.flavor.vcpus)
        instance.drop_migration_context()
        instance.vm_state, instance.task_state = was, None
        instance.save()
        self.wishes[uuid] = self.wishes.pop(migration.uuid)
        return {source.name, target.name}

    # Live migration.

    def live_migrate(self, uuid: str, scheduler: int, ends: bool
                     ) -> set[str]:
        """:param ends: whether it succeeds, or is aborted on its way"""
        instance = self.store.load(uuid)
        source = self.hosts[instance.host]
        migration = self._migration(
            instance, 'live-migration', 'accepted', instance.flavor)
        self.placement.move_allocations(self.context, uuid, migration.uuid)
        instance.task_state = task_states.MIGRATING
        instance.save()

        def claim(host: hosts.Host) -> None:
            host.rt.live_migration_claim(
                self.context, instance, host.name, migration, None,
                self.allocations(uuid))

        target = self._claimed(uuid, self.wishes[uuid], scheduler,
                               [source.name], claim)
        if target is None:
            self._back(instance, migration, 'error')
            return {source.name}
        target.arrive(uuid, instance.flavor.vcpus)
        if ends:
            self._live(instance, migration, source, target)
        else:
            target.leave(uuid)
            self.placement.delete_allocation_for_instance(self.context, uuid)
            target.rt.drop_move_claim(
                self.context, instance, target.name, flavor=instance.flavor)
            instance.drop_migration_context()
            self._back(instance, migration, 'cancelled')
        return {source.name, target.name}

    def _live(self, instance: Any, migration: Any, source: hosts.Host,
              target: hosts.Host) -> None:
        source.leave(instance.uuid)
        target.driver._rt_starts.heed(instance.uuid)
        instance.apply_migration_context()
        instance.drop_migration_context()
        self._place(instance, target)
        instance.task_state = None
        instance.save()
        self.placement.delete_allocation_for_instance(
            self.context, migration.uuid)
        migration.status = 'completed'
        migration.save()
        source.audit()

    # Evacuation.

    def lose(self, name: str, scheduler: int) -> set[str]:
        """Takes nova-compute down; evacuates its servers where they fit."""
        self.hosts[name].up = False
        touched = {name}
        for uuid in sorted(self.store.instances):
            state, host = self.state(uuid)
            if host == name and state != vm_states.RESIZED:
                touched |= self._evacuate(uuid, scheduler)
        return touched

    def _evacuate(self, uuid: str, scheduler: int) -> set[str]:
        instance, wish = self.store.load(uuid), self.wishes[uuid]
        source = instance.host
        migration = self._migration(
            instance, 'evacuation', 'accepted', instance.flavor)
        instance.task_state = task_states.REBUILDING
        instance.save()

        def claim(host: hosts.Host) -> None:
            host.rt.rebuild_claim(
                self.context, instance, host.name, self.allocations(uuid),
                image_meta=instance.image_meta, migration=migration)

        target = self._claimed(uuid, wish, scheduler, [source], claim)
        instance.task_state = None
        if target is None:
            migration.status = 'failed'
            migration.save()
            instance.save()
            return set()
        if instance.vm_state == vm_states.ACTIVE:
            target.spawn(uuid, instance.flavor.vcpus)
        target.rt.finish_evacuation(instance, target.name, migration)
        instance.save()
        return {target.name}

    def come_back(self, name: str) -> set[str]:
        """Starts nova-compute again, which ends the evacuated guests."""
        host = self.hosts[name]
        host.restart(self._end_evacuated)
        host.up = True
        return {name}

    def _end_evacuated(self, host: hosts.Host) -> None:
        for migration in list(self.store.migrations.values()):
            uuid = migration.instance_uuid
            if (migration.source_compute, migration.migration_type) != (
                    host.name, 'evacuation') or (
                    migration.status not in _EVACUATED):
                continue
            host.destroy(uuid)
            if uuid in self.store.instances:
                self.placement.remove_provider_tree_from_instance_allocation(
                    self.context, uuid, host.uuid)
            migration.status = 'completed'
            migration.save()
