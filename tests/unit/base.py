# SPDX-License-Identifier: Apache-2.0

"""A base class of the unit tests, and builders of Nova objects."""

import os

import fixtures
import hypothesis
import nova.conf
from nova import exception as nova_exception
from nova import objects
from nova.scheduler import host_manager
from oslo_config import fixture
from oslo_utils.fixture import uuidsentinel as uuids
from oslo_utils import timeutils
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.services import conf as rt_conf

CONF = nova.conf.CONF

#: @PROPERTY under @given: no time limit (a busy machine is no failure), no
#: failures kept for later runs (they would differ between machines), new
#: examples as tests.seeds says.
PROPERTY = hypothesis.settings(
    deadline=None, max_examples=100, database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize='NOVA_RT_SEQUENCES' not in os.environ)


class TestCase(base.BaseTestCase):
    """The options of [nova_rt] at their defaults, until overridden."""

    def setUp(self):
        super().setUp()
        objects.register_all()
        rt_conf.register_opts(CONF)
        self._config = self.useFixture(fixture.Config(CONF))
        CONF([], default_config_files=[], default_config_dirs=[])
        # There is no database, and so no server but those being created.
        self.useFixture(fixtures.MockPatchObject(
            objects.InstanceMapping, 'get_by_instance_uuid',
            side_effect=nova_exception.InstanceMappingNotFound(uuid='?')))

    def config(self, group='nova_rt', **options):
        self._config.config(group=group, **options)


def extra_specs(runtime, period):
    """A reservation as a flavor has it."""
    return {'hw:cpu.rt_runtime_us': str(runtime),
            'hw:cpu.rt_period_us': str(period)}


def hints(runtime=None, period=None):
    """Hints as a RequestSpec stores them."""
    values = {'cpu.rt_runtime_us': runtime, 'cpu.rt_period_us': period}
    return {key: [str(value)] for key, value in values.items() if value}


def flavor(specs=None, vcpus=1, number=1):
    return objects.Flavor(
        id=number, name='f', flavorid=str(number), vcpus=vcpus,
        memory_mb=512, root_gb=1, ephemeral_gb=0, swap=0,
        extra_specs=specs or {})


def request_spec(specs=None, scheduler_hints=None, vcpus=1, image=None,
                 num_instances=1):
    return objects.RequestSpec(
        flavor=flavor(specs, vcpus), scheduler_hints=scheduler_hints or {},
        numa_topology=None, num_instances=num_instances, project_id='p',
        pci_requests=objects.InstancePCIRequests(requests=[]),
        image=objects.ImageMeta(
            properties=objects.ImageMetaProps(**image or {})),
        instance_uuid=uuids.server, instance_group=None)


def instance(specs=None, vcpus=1, resources=None, **system_metadata):
    return objects.Instance(
        uuid=uuids.server, flavor=flavor(specs, vcpus), image_ref=uuids.image,
        system_metadata=system_metadata,
        resources=objects.ResourceList(objects=resources or []))


#: Of a host without EDF, with a tick of 4 ms.
FIXED = schedulability.FixedPriorities(
    levels=48, tick_us=4_000, min_period_us=10_000)


def fixed_map(*claims, pcpus=2, policy='worst_fit'):
    """A mainline host with *claims*: (pCPUs, reservation)."""
    return hostmap.HostMap(cpus.CpuBandwidth.empty(
        range(pcpus), 950_000, True, FIXED).fold(claims), policy)


def share(ppm):
    """A reservation of so much of a pCPU: of its period of a second."""
    return reservation.Reservation(ppm, reservation.PPM)


def host_map(used, cap=950_000, replicated=False, charged=0,
             policy='worst_fit', takes=()):
    """A host with a pCPU for each entry of *used*."""
    state = cpus.CpuBandwidth(
        tuple(range(len(used))), cap, tuple(used), charged, replicated)
    return hostmap.HostMap(state, policy, takes=frozenset(takes))


def compute_node(name, stats):
    return objects.ComputeNode(
        id=1, uuid=uuids.node, host=name, hypervisor_hostname=name, vcpus=8,
        vcpus_used=0, memory_mb=8192, free_ram_mb=8192, local_gb=100,
        free_disk_gb=100, disk_available_least=100, local_gb_used=0,
        memory_mb_used=0, updated_at=timeutils.utcnow(with_timezone=True),
        numa_topology=None, host_ip='127.0.0.1', cpu_info='{}',
        pci_device_pools=objects.PciDevicePoolList(objects=[]),
        hypervisor_type='LXC', hypervisor_version=1, supported_hv_specs=[],
        stats=stats, metrics='[]', cpu_allocation_ratio=1.0,
        ram_allocation_ratio=1.0, disk_allocation_ratio=1.0)


def host_state(published, cls=host_manager.HostState, name='host1'):
    """A host as the scheduler sees it; *published* None: no plugin there."""
    stats = hostmap.to_stats(published) if published else {}
    state = cls(name, name, uuids.cell)
    state.update(compute_node(name, stats), {}, [], {})
    return state
