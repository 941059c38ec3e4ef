# SPDX-License-Identifier: Apache-2.0

"""The compute manager that keeps hints with the servers it builds.

It also passes on what Neutron has changed of their addresses.
"""

from typing import Any

from nova.compute import manager
from nova import objects
from oslo_utils import excutils

from nova_rt.services.compute import neighbours
from nova_rt.services.compute import request


class RTComputeManager(manager.ComputeManager):
    """RTLibvirtDriver makes the manager it runs in one of these."""

    def build_and_run_instance(self, context: Any, instance: Any, image: Any,
                               request_spec: Any, *args: Any, **kwargs: Any
                               ) -> Any:
        if request_spec is not None and 'scheduler_hints' in request_spec:
            request.note_hints(instance, request_spec.scheduler_hints)
            neighbours.note_hints(instance, request_spec.scheduler_hints)
        return super().build_and_run_instance(
            context, instance, image, request_spec, *args, **kwargs)

    def check_can_live_migrate_destination(
            self, ctxt: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
        # What fails after the claim leaves it to Nova's next audit.
        before = instance.migration_context
        try:
            return super().check_can_live_migrate_destination(
                ctxt, instance, *args, **kwargs)
        except Exception:
            with excutils.save_and_reraise_exception():
                if instance.migration_context is not before:
                    self.rt.rt_abandon(ctxt, instance,
                                       self._get_nodename(instance))

    def external_instance_event(self, context: Any, instances: Any,
                                events: Any) -> None:
        super().external_instance_event(context, instances, events)
        changed = {event.instance_uuid for event in events
                   if event.name == 'network-changed'}
        for instance in instances:
            if instance.uuid in changed:
                self.driver.rt_describe(instance)

    def finish_snapshot_based_resize_at_dest(
            self, ctxt: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
        # The conductor's copy of the server in this cell is older than the
        # claim, of which Nova would store nothing with the server, and was
        # stored after what the claim noted.
        request.note_left(instance, instance.new_flavor)
        if instance.migration_context is None:
            instance.migration_context = (
                objects.MigrationContext.get_by_instance_uuid(
                    ctxt, instance.uuid))
        return super().finish_snapshot_based_resize_at_dest(
            ctxt, instance, *args, **kwargs)
