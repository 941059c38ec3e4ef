# SPDX-License-Identifier: Apache-2.0

"""The compute manager that keeps hints with the servers it builds."""

from typing import Any

from nova.compute import manager

from nova_rt.compute import request


class RTComputeManager(manager.ComputeManager):
    """RTLibvirtDriver makes the manager it runs in one of these."""

    def build_and_run_instance(self, context: Any, instance: Any, image: Any,
                               request_spec: Any, *args: Any, **kwargs: Any
                               ) -> Any:
        if request_spec is not None and 'scheduler_hints' in request_spec:
            request.note_hints(instance, request_spec.scheduler_hints)
        return super().build_and_run_instance(
            context, instance, image, request_spec, *args, **kwargs)

    def finish_snapshot_based_resize_at_dest(
            self, ctxt: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
        # The conductor's copy of the server in this cell is older than what
        # the claim noted, and was stored after it.
        request.note_left(instance, instance.new_flavor)
        return super().finish_snapshot_based_resize_at_dest(
            ctxt, instance, *args, **kwargs)
