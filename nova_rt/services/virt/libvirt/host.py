# SPDX-License-Identifier: Apache-2.0

"""The libvirt connection that returns guests of class RTGuest."""

from collections.abc import Sequence
from typing import Any

from nova.virt.libvirt import host as libvirt_host

from nova_rt.services.virt.libvirt import confinement
from nova_rt.services.virt.libvirt import guest
from nova_rt.services.virt.libvirt import pinning
from nova_rt.services.virt.libvirt import reservations


class RTHost(libvirt_host.Host):
    """Nova's Host that applies reservations to the domains it defines.

    RTLibvirtDriver changes the class of its existing Host to this class.
    """

    rt_reservations: reservations.Reservations
    #: the capabilities that containers lose, by libvirt's names
    rt_dropped_capabilities: Sequence[str]
    #: quota and period of emulator threads, in us; None: no limit
    rt_emulator_quota: tuple[int, int] | None = None

    def write_instance_config(self, xml: str) -> guest.RTGuest:
        text = self._rt_confined(xml)
        return self._rt_guest(super().write_instance_config(text))

    def get_guest(self, instance: Any) -> guest.RTGuest:
        return self._rt_guest(super().get_guest(instance))

    def _rt_guest(self, plain: Any) -> guest.RTGuest:
        return guest.RTGuest(plain._domain, self.rt_reservations)

    def _rt_confined(self, xml: str) -> str:
        xml = confinement.without(xml, self.rt_dropped_capabilities)
        xml = confinement.apart(xml)
        claim = self.rt_reservations.claim(pinning.uuid_of(xml))
        if claim is None:
            return xml
        xml = pinning.limited(xml, self.rt_emulator_quota)
        if not self.rt_reservations.pins():
            return xml
        return pinning.pinned(xml, claim.by_vcpu)
