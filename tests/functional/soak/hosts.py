# SPDX-License-Identifier: Apache-2.0

"""A compute node: tracker and driver of production, an emulated kernel."""

from collections.abc import Callable
from collections.abc import Iterator
import types
from typing import Any

import nova.conf
from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.services.compute import tracker
from nova_rt.services.virt.libvirt import driver
from nova_rt.services.virt.libvirt import guest
from nova_rt.services.virt.libvirt import reconcile
from tests.emulation import kernels
from tests.emulation import tasks as emulated
from tests.functional import guests

CONF = nova.conf.CONF
PCPUS = 4


class Domain:
    """A domain of libvirt: a defined container, which may run."""

    def __init__(self, host: 'Host', uuid: str, vcpus: int,
                 cpus: tuple[int, ...]) -> None:
        self._host = host
        self._uuid = uuid
        self._vcpus = vcpus
        self._cpus = cpus
        self.pid = 0

    def UUIDString(self) -> str:  # noqa: N802
        return self._uuid

    def name(self) -> guests.Name:
        name = guests.Name('instance-' + self._uuid[:8])
        name.pid = self.pid
        return name

    def ID(self) -> int:  # noqa: N802
        return self.pid or -1

    def metadata(self, *wanted: Any) -> str:
        return ''  # nobody marked it

    def createWithFlags(self, flags: int) -> None:  # noqa: N802
        if CONF.libvirt.virt_type == 'lxc':
            self.pid = self._host.guests.start(
                self._uuid[:8], ','.join(map(str, self._cpus)))
        else:
            pins = [str(cpu) for cpu in self._cpus] or [''] * self._vcpus
            self.pid = self._host.guests.start_qemu(self._uuid[:8], pins)

    def resume(self) -> None:
        """Does nothing: the guest did not run before."""

    def destroy(self) -> None:
        self._host.guests.stop(self.pid)
        self.pid = 0


class Driver(driver.RTLibvirtDriver):
    """A driver without libvirt that inherits all code of nova-rt."""

    def __init__(self, host: 'Host') -> None:
        self._rt_host = host
        compute = types.SimpleNamespace(host=host.name, rt=host.rt)
        super().__init__(types.SimpleNamespace(_compute=compute))
        self._host.get_connection = lambda: host
        self._host.list_guests = host.list_guests
        self._host.get_online_cpus = self._get_vcpu_available

    def start(self) -> None:
        """Starts like _rt_init, whose classes exist already."""
        target = self.rt_reservations.enforcer = self._rt_find()
        assert target is not None
        self._rt_reconciler = reconcile.Reconciler(target)
        self._rt_measure()

    def _rt_files(self) -> Any:
        return self._rt_host.kernel

    def _get_vcpu_available(self) -> set[int]:
        return set(range(PCPUS))

    def get_host_ip_addr(self) -> str:
        return '192.0.2.1'

    def node_is_available(self, nodename: str) -> bool:
        return True

    def capabilities_as_traits(self) -> dict[str, bool]:
        return {}

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        return {
            'uuid': self._rt_host.uuid, 'hypervisor_hostname': nodename,
            'vcpus': PCPUS, 'memory_mb': 1 << 20, 'local_gb': 1 << 10,
            'vcpus_used': 0, 'memory_mb_used': 0, 'local_gb_used': 0,
            'hypervisor_type': 'LXC', 'hypervisor_version': 1,
            'cpu_info': '',
            'numa_topology': topology(self._rt_host.cells),
            'disk_available_least': 1 << 10, 'supported_instances': []}


def cells(count: int) -> list[set[int]]:
    """The pCPUs of each NUMA cell."""
    size = PCPUS // count
    return [set(range(number * size, (number + 1) * size))
            for number in range(count)]


def topology(count: int) -> Any:
    """Returns the topology of a host with this many cells; None for 0."""
    if not count:
        return None
    return objects.NUMATopology(cells=[
        objects.NUMACell(
            id=number, cpuset=cpus, pcpuset=set(), memory=1 << 18,
            cpu_usage=0, memory_usage=0, pinned_cpus=set(), siblings=[],
            mempages=[objects.NUMAPagesTopology(
                size_kb=4, total=1 << 26, used=0)], socket=0)
        for number, cpus in enumerate(cells(count))])._to_json()


class _Connection:
    """Becomes an RTHost."""


def init(self: Any, virtapi: Any, read_only: bool = False) -> None:
    """Replaces the method of Nova's driver."""
    self.virtapi, self._host = virtapi, _Connection()


def update_provider_tree(self: Any, tree: Any, nodename: str,
                         allocations: Any = None) -> None:
    """Replaces the method of Nova's driver."""
    tree.update_inventory(nodename, {
        name: {'total': total, 'reserved': 0, 'min_unit': 1,
               'max_unit': total, 'step_size': 1, 'allocation_ratio': ratio}
        for name, total, ratio in (
            ('VCPU', PCPUS, 64.0), ('MEMORY_MB', 1 << 20, 1.0),
            ('DISK_GB', 1 << 10, 1.0))})


class Host:
    """The kernel and the domains, which outlast nova-compute."""

    def __init__(self, name: str, kernel: str, cloud: Any) -> None:
        self.name = name
        self.uuid = str(getattr(uuids, name))
        self.up = True
        self.kernel: Any = kernels.KERNELS[kernel](PCPUS, cloud.clock)
        self.guests = emulated.Guests(self.kernel)
        self.domains: dict[str, Domain] = {}
        self._cloud = cloud
        self.cells: int = cloud.cells
        self.restart()

    def restart(self, clean: Callable[['Host'], None] | None = None
                ) -> None:
        """Starts nova-compute.

        :param clean: done with the driver there, before the first audit
        """
        self.rt: Any = tracker.RTResourceTracker(
            self.name, None, self._cloud.placement)
        self.rt.service_ref = types.SimpleNamespace(id=1)
        self.driver = Driver(self)
        self.rt.driver = self.driver
        self.driver.start()
        if clean is not None:
            clean(self)
        self.audit(startup=True)

    def audit(self, startup: bool = False) -> None:
        self.rt.update_available_resource(
            self._cloud.context, self.name, startup=startup)

    @property
    def replicated(self) -> bool:
        return not self.kernel.per_cpu

    # For the driver.

    def lookupByUUIDString(self, uuid: str) -> Domain:  # noqa: N802
        return self.domains[uuid]

    def list_guests(self, only_running: bool = True) -> Iterator[Any]:
        for domain in list(self.domains.values()):
            if domain.pid:
                yield self.guest(domain)

    def guest(self, domain: Domain) -> guest.RTGuest:
        return guest.RTGuest(domain, self.driver.rt_reservations)

    # For the cloud.

    def spawn(self, uuid: str, vcpus: int) -> None:
        """Defines a domain and starts it."""
        ours = self.driver.rt_reservations
        claim = ours.claim(uuid)
        cpus = claim.cpus if claim and ours.pins() else ()
        domain = self.domains[uuid] = Domain(self, uuid, vcpus, cpus)
        self.guest(domain).launch()

    def power_off(self, uuid: str) -> None:
        if self.runs(uuid):
            self.guest(self.domains[uuid]).poweroff()

    def destroy(self, uuid: str) -> None:
        self.power_off(uuid)
        self.domains.pop(uuid, None)
        self.driver.rt_reservations.settle()

    def arrive(self, uuid: str, vcpus: int) -> None:
        """Starts the destination of a live migration, as libvirt does."""
        ours = self.driver.rt_reservations
        claim = ours.destination(uuid)
        cpus = claim.cpus if claim and ours.pins() else ()
        domain = self.domains[uuid] = Domain(self, uuid, vcpus, cpus)
        ours.guard()
        domain.createWithFlags(0)
        self.driver._rt_starts.heed(uuid)

    def leave(self, uuid: str) -> None:
        """Removes a guest that libvirt has migrated away."""
        domain = self.domains.pop(uuid)
        if domain.pid:
            domain.destroy()
        self.driver.rt_reservations.settle()

    def runs(self, uuid: str) -> bool:
        return uuid in self.domains and bool(self.domains[uuid].pid)
