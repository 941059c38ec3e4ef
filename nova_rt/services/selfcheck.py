# SPDX-License-Identifier: Apache-2.0

"""Start-up self-check: is this the Nova we were tested on?

Nova promises nothing to drivers out of its tree.  Each method we override
or call is listed with the parameters it has in the tested releases; another
set stops nova-compute with a clear message instead of a wrong reservation.
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

#: (method, parameters) for Nova 32 to 34.  "..." stands for any further
#: parameters: those we only pass on.
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
    ('nova.compute.manager.ComputeManager.build_and_run_instance',
     'self, context, instance, image, request_spec, ...'),
    ('nova.compute.manager.ComputeManager.check_can_live_migrate_destination',
     'self, ctxt, instance, ...'),
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
#: The same of nova-scheduler, where Nova would not miss what is gone.
TESTED_BY_SCHEDULER = (
    ('nova.scheduler.host_manager.HostManager.host_state_cls',
     'self, host, node, cell, ...'),
    (_STATE + '_update_from_compute_node', 'self, compute'),
    (_STATE + '_locked_consume_from_request', 'self, spec_obj'),
    ('nova.scheduler.filters.BaseHostFilter.filter_all',
     'self, filter_obj_list, spec_obj'),
)


def verify(tested: Iterable[tuple[str, str]] = TESTED) -> None:
    """Compare the installed Nova with the tested parameters.

    :raises UnsupportedNova: naming the first method that differs
    """
    for name, wanted in tested:
        found = _parameters(name)
        if not _same(found, wanted):
            raise exception.UnsupportedNova(
                name=name, tested=f'({wanted})',
                found='has none' if found is None
                else f'has ({", ".join(found)})')


def _parameters(name: str) -> list[str] | None:
    owner, _, method = name.rpartition('.')
    try:
        function: Any = getattr(importutils.import_class(owner), method)
    except (ImportError, AttributeError):
        return None
    return (list(inspect.signature(function).parameters)
            if callable(function) else None)


def _same(found: list[str] | None, wanted: str) -> bool:
    names = wanted.split(', ')
    if found is None:
        return False
    if names[-1] == '...':
        return found[:len(names) - 1] == names[:-1]
    return found == names
