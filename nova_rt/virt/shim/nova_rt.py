# SPDX-License-Identifier: Apache-2.0

"""Found by Nova as ``nova.virt.nova_rt``; see nova_rt.compute.loader."""

from nova_rt.virt.libvirt.driver import RTLibvirtDriver

__all__ = ['RTLibvirtDriver']
