# SPDX-License-Identifier: Apache-2.0

"""The compute manager that notes hints with the servers that it builds.

The manager also tells the driver when Neutron has changed the addresses of a
server.
"""

from typing import Any

from nova.compute import manager
from nova import objects
from oslo_utils import excutils

from nova_rt.services.compute import neighbours
from nova_rt.services.compute import request


class RTComputeManager(manager.ComputeManager):
    """Nova's compute manager with hooks for reservations.

    RTLibvirtDriver changes the class of its compute manager to this class.
    """

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
        # If Nova's check fails after the claim was made, Nova leaves the
        # claim until its next audit.
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
        # The conductor copied the server into this cell before the claim was
        # made, and stored the copy after the claim had noted the hints to
        # leave behind.  Without the next lines Nova would lose the note, and
        # would store nothing of the claim with the server.
        request.note_left(instance, instance.new_flavor)
        if instance.migration_context is None:
            instance.migration_context = (
                objects.MigrationContext.get_by_instance_uuid(
                    ctxt, instance.uuid))
        return super().finish_snapshot_based_resize_at_dest(
            ctxt, instance, *args, **kwargs)
