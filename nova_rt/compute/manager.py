# SPDX-License-Identifier: Apache-2.0

"""The compute manager that notes hints with the server it builds."""

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
