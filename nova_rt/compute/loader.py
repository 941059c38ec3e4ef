# SPDX-License-Identifier: Apache-2.0

"""Makes ``compute_driver = nova_rt.RTLibvirtDriver`` findable.

Nova imports its driver from the package ``nova.virt`` and nowhere else.
nova-compute loads all os-vif plugins before its driver; this one plugs no
VIF and only adds a directory to the search path of ``nova.virt``.  It is
inert until ``compute_driver`` names our driver, and where it was not loaded
nova-compute does not start (ImportError).
"""

import os
import sys
from typing import Any

import os_vif.objects
import os_vif.plugin

SHIM = os.path.join(os.path.dirname(os.path.dirname(__file__)),
                    'virt', 'shim')


def extend_nova_virt() -> None:
    """Let ``nova.virt.nova_rt`` be found in our shim directory."""
    from nova import virt
    if SHIM not in virt.__path__:
        virt.__path__.append(SHIM)


class Loader(os_vif.plugin.PluginBase):
    """An os-vif plugin without any VIF type."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        # os-vif has users without Nova; there is nothing to do for them.
        if 'nova' in sys.modules:
            extend_nova_virt()

    def describe(self) -> Any:
        return os_vif.objects.host_info.HostPluginInfo(
            plugin_name='nova_rt', vif_info=[])

    def plug(self, vif: Any, instance_info: Any) -> None:
        """Never called: there is no VIF of ours."""

    def unplug(self, vif: Any, instance_info: Any) -> None:
        """Never called: there is no VIF of ours."""
