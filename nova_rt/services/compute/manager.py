# SPDX-License-Identifier: Apache-2.0

"""The compute manager that notes hints with the servers that it builds.

The manager also tells the driver when Neutron has changed the addresses of a
server.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nova.compute import manager
from nova.compute import utils as compute_utils
from nova import exception as nova_exception
from nova import objects
from nova import utils
import oslo_messaging  # type: ignore[import-untyped]
from oslo_utils import excutils

from nova_rt.services.compute import change
from nova_rt.services.compute import inplace
from nova_rt.services.compute import layouts
from nova_rt.services.compute import moving
from nova_rt.services.compute import neighbours
from nova_rt.services.compute import request
from nova_rt.services.compute import telling
from nova_rt.services import events


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

    @oslo_messaging.expected_exceptions(nova_exception.NovaException)
    def rt_change_reservation(self, ctxt: Any, uuid: str,
                              hints: Mapping[str, int]) -> None:
        """Replaces the reservation hints of a server here; they count at once.

        ``nova-rt-manage reserve`` calls this method by RPC.

        :raises ComputeResourcesUnavailable: when the reservation does not fit
        :raises Invalid: when the server cannot be changed
        """
        self._rt_act(ctxt, uuid, change.ACTION, lambda instance: (
            change.change_here(self.rt, ctxt, instance, hints)))

    @oslo_messaging.expected_exceptions(nova_exception.NovaException)
    def rt_move_vcpu(self, ctxt: Any, uuid: str, source: int, target: int
                     ) -> None:
        """Moves the vCPU of a server on one pCPU to another pCPU.

        ``nova-rt-manage defrag`` calls this method by RPC.

        :raises ComputeResourcesUnavailable: when *target* has no room
        :raises Invalid: when the vCPU cannot be moved
        """
        self._rt_act(ctxt, uuid, moving.ACTION, lambda instance: (
            moving.move_here(self.rt, ctxt, instance, source, target)))

    @oslo_messaging.expected_exceptions(nova_exception.NovaException)
    def rt_arrangement(self, ctxt: Any) -> dict[str, Any]:
        """Returns the pCPUs of this host and the claims that may move.

        ``nova-rt-manage defrag`` calls this method by RPC.

        :returns: see services.compute.layouts
        """
        answer: dict[str, Any] = layouts.of_host(self.rt, ctxt)
        return answer

    def _rt_act(self, ctxt: Any, uuid: str, action: str,
                act: Callable[[Any], None]) -> None:
        """Changes a server here on which Nova does not work.

        :raises Invalid: when Nova works on the server
        """
        @utils.synchronized(uuid)
        def act_here() -> None:
            instance = objects.Instance.get_by_uuid(
                ctxt, uuid, expected_attrs=moving.ATTRIBUTES)
            if instance.host != self.host or instance.task_state:
                raise nova_exception.Invalid('Nova is working on the server')
            act(instance)

        objects.InstanceAction.action_start(ctxt, uuid, action,
                                            want_result=False)
        with compute_utils.EventReporter(
                ctxt, f'compute_{action}', self.host, uuid):
            act_here()

    def rebuild_instance(self, context: Any, instance: Any, *args: Any,
                         **kwargs: Any) -> Any:
        before = instance.host
        result = super().rebuild_instance(context, instance, *args, **kwargs)
        if before != instance.host == self.host:
            telling.moved(instance, events.EVACUATED)
        return result

    def _terminate_volume_connections(self, context: Any, instance: Any,
                                      bdms: Any) -> None:
        if not inplace.stays(instance):
            super()._terminate_volume_connections(context, instance, bdms)

    def _update_volume_attachments(self, context: Any, instance: Any,
                                   bdms: Any) -> None:
        if not inplace.stays(instance):
            super()._update_volume_attachments(context, instance, bdms)

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
