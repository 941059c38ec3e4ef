# SPDX-License-Identifier: Apache-2.0

"""Makes an unmodified nova-compute load the code of this package.

*The loader's trick.*  Nova imports its driver from the package ``nova.virt``
and from nowhere else.  nova-compute loads all os-vif plug-ins before its
driver.  :class:`Loader` is an os-vif plug-in that plugs no VIF: it only adds
``shim`` to the search path of ``nova.virt``, so that ``compute_driver =
nova_rt.RTLibvirtDriver`` names ``shim/nova_rt.py``.  If the plug-in was not
loaded, nova-compute does not start (ImportError).

*The class trick.*  Nova makes its compute manager, its resource tracker and
its libvirt host before our driver runs, and has no option that names their
classes.  :func:`become` gives such a live object one of our classes, which is
a subclass of the one that Nova gave the object.
"""

import os
import sys
from typing import Any

import os_vif.objects
import os_vif.plugin

SHIM = os.path.join(os.path.dirname(__file__), 'shim')


def extend_nova_virt() -> None:
    """Adds the directory with ``nova_rt`` to the path of ``nova.virt``."""
    from nova import virt
    if SHIM not in virt.__path__:
        virt.__path__.append(SHIM)


def become(live: Any, ours: type) -> None:
    """Gives a live object of Nova one of our classes.

    The object keeps its attributes.  Nobody calls ``__init__`` for such an
    object.  So the class has no ``__init__``, and defines the defaults of its
    own attributes as class attributes.
    """
    live.__class__ = ours


class Loader(os_vif.plugin.PluginBase):
    """An os-vif plugin without any VIF type."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        # Programs other than Nova use os-vif, too, and need no driver.
        if 'nova' in sys.modules:
            extend_nova_virt()

    def describe(self) -> Any:
        return os_vif.objects.host_info.HostPluginInfo(
            plugin_name='nova_rt', vif_info=[])

    def plug(self, vif: Any, instance_info: Any) -> None:
        """Does nothing: no VIF belongs to this plugin."""

    def unplug(self, vif: Any, instance_info: Any) -> None:
        """Does nothing: no VIF belongs to this plugin."""
