# SPDX-License-Identifier: Apache-2.0

"""Makes hosts and requests as the scheduler sees them, for benchmarks."""

import random
from typing import Any

from nova import objects
from nova.objects import fields
from nova.scheduler import host_manager
from oslo_utils.fixture import uuidsentinel as uuids
from oslo_utils import timeutils

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import schedulability

PCPUS, NODES = 64, 2


def numa_json(number: int) -> str:
    """Returns two NUMA nodes, with up to 29 pinned pCPUs each."""
    cells = []
    for node in range(NODES):
        ids = set(range(node * PCPUS // NODES, (node + 1) * PCPUS // NODES))
        pinned = set(sorted(ids)[:number % 30])
        cells.append(objects.NUMACell(
            id=node, cpuset=set(), pcpuset=ids, socket=node, memory=131072,
            cpu_usage=len(pinned), memory_usage=0, pinned_cpus=pinned,
            siblings=[{cpu} for cpu in ids], mempages=[
                objects.NUMAPagesTopology(size_kb=4, total=1 << 25, used=0)],
            network_metadata=objects.NetworkMetadata(
                physnets=set(), tunneled=False)))
    return str(objects.NUMATopology(cells=cells)._to_json())


#: A host with mainline RT_GROUP_SCHED, where servers have fixed priorities.
FIXED = schedulability.FixedPriorities(
    levels=48, tick_us=4_000, min_period_us=10_000)
_FLAVORS = [reservation.Reservation(runtime, period)
            for runtime in (2_000, 4_000, 8_000)
            for period in (50_000, 100_000, 1_000_000)]


def stats(fixed: bool = False) -> dict[str, str]:
    """Returns what nova-compute publishes: 64 pCPUs, used at random levels.

    The map was never seen before, so no cache helps.

    :param fixed: a host without EDF, where the shares of all servers
        together are at most 0.95: five servers of two vCPUs
    """
    return _published(_fixed_state() if fixed else _state())


def _fixed_state() -> cpus.CpuBandwidth:
    empty = cpus.CpuBandwidth.empty(range(PCPUS), 950_000, True, FIXED)
    return empty.fold(
        (random.sample(range(PCPUS), 2), random.choice(_FLAVORS))  # noqa: S311
        for _ in range(5))


def _state() -> cpus.CpuBandwidth:
    empty = cpus.CpuBandwidth.empty(range(PCPUS), 950_000)
    state = empty.fold(
        ((cpu,), reservation.Reservation(
            random.randrange(1, 900_000), reservation.PPM))  # noqa: S311
        for cpu in range(PCPUS))
    return state


def _published(state: cpus.CpuBandwidth) -> dict[str, str]:
    return {'num_instances': '3', 'io_workload': '0', 'failed_builds': '0',
            **hostmap.to_stats(hostmap.HostMap(state, 'worst_fit'))}


def compute_node(number: int, numa: str | None) -> Any:
    """Returns a compute node as the scheduler reads it."""
    name = f'host{number:05d}'
    return objects.ComputeNode(
        id=number, uuid=f'{number:08x}-0000-4000-8000-{number:012x}',
        host=name, hypervisor_hostname=name, vcpus=PCPUS,
        vcpus_used=number % 30, memory_mb=262144, free_ram_mb=200000,
        local_gb=1000, free_disk_gb=900, disk_available_least=900,
        local_gb_used=100, memory_mb_used=60000,
        updated_at=timeutils.utcnow(True), numa_topology=numa,
        pci_device_pools=objects.PciDevicePoolList(objects=[]),
        host_ip='127.0.0.1', hypervisor_type='QEMU',
        hypervisor_version=8002000, cpu_info='{}',
        supported_hv_specs=[
            objects.HVSpec.from_list(['x86_64', 'kvm', 'hvm']),
            objects.HVSpec.from_list(['i686', 'kvm', 'hvm'])],
        stats=stats(),
        metrics='[]', cpu_allocation_ratio=4.0, ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0)


def host_state(cls: type[host_manager.HostState], node: Any) -> Any:
    """Returns a HostState as HostManager builds it for each request."""
    now = timeutils.utcnow()
    state = cls(node.host, node.hypervisor_hostname, uuids.cell)
    state.update(node, {
        'disabled': False, 'last_seen_up': now, 'updated_at': now,
        'created_at': now, 'forced_down': False, 'host': node.host,
        'topic': 'compute', 'report_count': 1}, [], {})
    state.allocation_candidates = [{'mappings': {}}]
    return state


def request(reserved: bool) -> Any:
    """Returns a request for a server with two vCPUs, reserved or not."""
    specs = {'hw:cpu.rt_runtime_us': '100000',
             'hw:cpu.rt_period_us': '200000'} if reserved else {}
    flavor = objects.Flavor(
        id=1, name='f', flavorid='1', vcpus=2, memory_mb=2048, root_gb=10,
        ephemeral_gb=0, swap=0, extra_specs=specs)
    return objects.RequestSpec(
        context=None, flavor=flavor, numa_topology=None,
        pci_requests=objects.InstancePCIRequests(requests=[]),
        project_id='p', num_instances=1, requested_resources=[],
        scheduler_hints=({'cpu.rt_runtime_us': ['120000']} if reserved
                         else {}),
        image=objects.ImageMeta(properties=objects.ImageMetaProps(
            hw_architecture=fields.Architecture.X86_64, img_hv_type='kvm',
            hw_vm_mode='hvm')),
        instance_uuid=uuids.instance, instance_group=None,
        requested_networks=objects.NetworkRequestList(objects=[]))
