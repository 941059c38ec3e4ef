# SPDX-License-Identifier: Apache-2.0

"""Checks at the start whether this release was tested with this Nova.

Nova may change internal methods that out-of-tree drivers use.  The tables
below list each method of Nova that nova-rt overrides or calls, with the
parameters that the method has in the tested releases.  If a method has other
parameters, nova-compute does not start and logs the reason.  So nova-compute
cannot make wrong reservations.
"""

from collections.abc import Iterable
import inspect
from typing import Any

from oslo_utils import importutils

from nova_rt.rules import exception

_TRACKER = 'nova.compute.resource_tracker.ResourceTracker.'
_DRIVER = 'nova.virt.libvirt.driver.LibvirtDriver.'
_HOST = 'nova.virt.libvirt.host.Host.'
_GUEST = 'nova.virt.libvirt.guest.Guest.'

#: What both services ask about the NUMA cells of a server.
_NUMA = (
    ('nova.virt.hardware.numa_fit_instance_to_host',
     'host_topology, instance_topology, provider_mapping, limits, '
     'pci_requests, pci_stats'),
    ('nova.virt.hardware._numa_cells_support_network_metadata',
     'host_topology, chosen_host_cells, network_metadata'),
    ('nova.pci.stats.PciDeviceStats.support_requests',
     'self, requests, provider_mapping, numa_cells'),
)

#: (method, parameters) in Nova 31 to 34, for nova-compute.  "..." stands for
#: any further parameters, which nova-rt only passes on.
TESTED = (
    (_TRACKER + 'instance_claim',
     'self, context, instance, nodename, allocations, limits'),
    (_TRACKER + '_move_claim',
     'self, context, instance, new_flavor, nodename, migration, '
     'allocations, ...'),
    (_TRACKER + 'drop_move_claim', 'self, context, instance, ...'),
    (_TRACKER + 'disabled', 'self, nodename'),
    (_TRACKER + '_claim_resources', 'self, allocations'),
    (_TRACKER + '_add_assigned_resources', 'self, resources'),
    (_TRACKER + '_release_assigned_resources', 'self, resources'),
    (_TRACKER + '_populate_assigned_resources',
     'self, context, instance_by_uuid'),
    (_TRACKER + '_check_resources', 'self, context'),
    (_TRACKER + '_update', 'self, context, compute_node, startup'),
    (_TRACKER + '_update_usage_from_instances',
     'self, context, instances, nodename'),
    (_TRACKER + '_update_usage_from_instance',
     'self, context, instance, nodename, is_removed'),
    (_TRACKER + '_update_usage_from_migration',
     'self, context, instance, migration, nodename'),
    (_TRACKER + '_get_flavor', 'self, instance, prefix, migration'),
    (_TRACKER + '_drop_move_claim',
     'self, context, instance, nodename, flavor, prefix'),
    # What Nova's claim asks about cells is asked before it.
    ('nova.compute.claims.Claim._test_numa_topology',
     'self, compute_node, limit'),
    ('nova.compute.claims.MoveClaim._test_numa_topology',
     'self, resources, limit'),
    ('nova.virt.hardware.numa_get_constraints', 'flavor, image_meta'),
    ('nova.pci.request.get_pci_requests_from_flavor', 'flavor, ...'),
    ('nova.objects.numa.NUMATopology.obj_from_db_obj', 'db_obj'),
    ('nova.objects.numa.NUMATopology._to_json', 'self'),
    *_NUMA,
    ('nova.compute.manager.ComputeManager.build_and_run_instance',
     'self, context, instance, image, request_spec, ...'),
    ('nova.compute.manager.ComputeManager.check_can_live_migrate_destination',
     'self, ctxt, instance, ...'),
    ('nova.compute.manager.ComputeManager._terminate_volume_connections',
     'self, context, instance, bdms'),
    ('nova.compute.manager.ComputeManager._update_volume_attachments',
     'self, context, instance, bdms'),
    ('nova.compute.manager.ComputeManager._get_nodename',
     'self, instance, ...'),
    ('nova.compute.manager.ComputeManager.'
     'finish_snapshot_based_resize_at_dest', 'self, ctxt, instance, ...'),
    ('nova.compute.manager.ComputeManager.external_instance_event',
     'self, context, instances, events'),
    ('nova.scheduler.client.report.SchedulerReportClient.'
     'get_allocations_for_resource_provider', 'self, context, rp_uuid'),
    (_DRIVER + '__init__', 'self, virtapi, read_only'),
    (_DRIVER + 'init_host', 'self, host'),
    (_DRIVER + 'check_can_live_migrate_destination',
     'self, context, instance, ...'),
    (_DRIVER + 'check_can_live_migrate_source',
     'self, context, instance, dest_check_data, ...'),
    (_DRIVER + 'post_claim_migrate_data',
     'self, context, instance, migrate_data, claim'),
    (_DRIVER + 'post_live_migration_at_source',
     'self, context, instance, network_info'),
    (_DRIVER + 'post_live_migration_at_destination',
     'self, context, instance, network_info, ...'),
    (_DRIVER + 'destroy', 'self, context, instance, ...'),
    (_DRIVER + 'migrate_disk_and_power_off',
     'self, context, instance, dest, flavor, ...'),
    (_DRIVER + 'finish_migration',
     'self, context, migration, instance, disk_info, network_info, '
     'image_meta, resize_instance, allocations, block_device_info, '
     'power_on, ...'),
    (_DRIVER + 'finish_revert_migration',
     'self, context, instance, network_info, migration, '
     'block_device_info, power_on, ...'),
    (_DRIVER + 'emit_event', 'self, event'),
    (_DRIVER + 'update_provider_tree',
     'self, provider_tree, nodename, allocations'),
    (_DRIVER + '_get_guest_config',
     'self, instance, network_info, image_meta, disk_info, ...'),
    (_DRIVER + '_get_guest_idmaps', 'self'),
    (_DRIVER + '_get_vcpu_available', 'self'),
    (_HOST + 'write_instance_config', 'self, xml'),
    (_HOST + 'get_guest', 'self, instance'),
    (_HOST + 'get_connection', 'self'),
    (_HOST + 'list_guests', 'self, only_running'),
    (_GUEST + '__init__', 'self, domain'),
    (_GUEST + 'launch', 'self, pause'),
    (_GUEST + 'poweroff', 'self'),
    (_GUEST + 'save_memory_state', 'self'),
    (_GUEST + 'migrate',
     'self, destination, migrate_uri, migrate_disks, destination_xml, ...'),
)

_STATE = 'nova.scheduler.host_manager.HostState.'
#: (method, parameters) in Nova 31 to 34, for nova-scheduler.  If Nova no
#: longer called one of these methods, no error would show that.
TESTED_BY_SCHEDULER = (
    ('nova.scheduler.host_manager.HostManager.host_state_cls',
     'self, host, node, cell, ...'),
    (_STATE + '_update_from_compute_node', 'self, compute'),
    (_STATE + '_locked_consume_from_request', 'self, spec_obj'),
    ('nova.scheduler.filters.BaseHostFilter.filter_all',
     'self, filter_obj_list, spec_obj'),
    ('nova.scheduler.filters.CandidateFilterMixin.filter_candidates',
     'self, host_state, filter_func'),
    ('nova.objects.request_spec.RequestSpec.get_request_group_mapping',
     'self'),
    ('nova.scheduler.client.report.SchedulerReportClient'
     '.get_allocation_candidates', 'self, context, resources'),
    *_NUMA,
)

_API = 'nova.compute.api.API.'
#: (method, parameters) in Nova 31 to 34, for nova-api.
TESTED_BY_API = (
    (_API + '_provision_instances',
     'self, context, flavor, min_count, max_count, base_options, ...'),
    (_API + 'resize', 'self, context, instance, flavor_id, ...'),
    (_API + 'unshelve', 'self, context, instance, ...'),
    ('nova.limit.utils.should_enforce', 'exc'),
    ('nova.limit.utils.use_unified_limits', ''),
    ('nova.scheduler.client.report.SchedulerReportClient'
     '.get_allocations_for_consumer', 'self, context, consumer'),
    ('nova.scheduler.client.report.SchedulerReportClient'
     '.get_usages_counts_for_limits', 'self, context, project_id'),
)


def verify(tested: Iterable[tuple[str, str]] = TESTED) -> None:
    """Compares the parameters of Nova's methods with the tested ones.

    :raises UnsupportedNova: when a method differs; the message names the
        first method that does
    """
    for name, expected in tested:
        actual = _parameters(name)
        if not _same(actual, expected):
            raise exception.UnsupportedNova(
                name=name, tested=f'({expected})',
                found='has no method of this name' if actual is None
                else f'has ({", ".join(actual)})')


def _parameters(name: str) -> list[str] | None:
    owner, _, method = name.rpartition('.')
    try:
        function: Any = getattr(importutils.import_class(owner), method)
    except (ImportError, AttributeError):
        return None
    return (list(inspect.signature(function).parameters)
            if callable(function) else None)


def _same(actual: list[str] | None, expected: str) -> bool:
    names = expected.split(', ') if expected else []
    if actual is None:
        return False
    if names[-1:] == ['...']:
        return actual[:len(names) - 1] == names[:-1]
    return actual == names
