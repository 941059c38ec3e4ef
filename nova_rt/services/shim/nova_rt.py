# SPDX-License-Identifier: Apache-2.0

"""Nova imports this as ``nova.virt.nova_rt``; see nova_rt.services.install."""

from nova_rt.services.virt.libvirt.driver import RTLibvirtDriver

__all__ = ['RTLibvirtDriver']
