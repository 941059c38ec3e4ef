# SPDX-License-Identifier: Apache-2.0

"""The driver to name in ``[DEFAULT] compute_driver``.

It wires the parts together in nova-compute: the tracker that claims, the
host and guests that apply, the inventory for Placement.
"""

from collections.abc import Sequence
from typing import Any

import libvirt
import nova.conf
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.virt import event as virtevent
from nova.virt.libvirt import driver
from nova.virt.libvirt import guest as libvirt_guest
from oslo_log import log as logging

from nova_rt.compute import capacity
from nova_rt.compute import claims
from nova_rt.compute import manager as rt_manager
from nova_rt.compute import request
from nova_rt.compute import selfcheck
from nova_rt.compute import tracker
from nova_rt import conf as rt_conf
from nova_rt import exception
from nova_rt import hostmap
from nova_rt.kernel import base
from nova_rt.kernel import detect
from nova_rt.kernel import fs as kernel_fs
from nova_rt.kernel import tasks as kernel_tasks
import nova_rt.privsep
from nova_rt import reservation
from nova_rt.virt.libvirt import enforcer
from nova_rt.virt.libvirt import host as rt_host
from nova_rt.virt.libvirt import reconcile

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTLibvirtDriver(driver.LibvirtDriver):
    """Nova's libvirt driver, with CPU reservations."""

    rt_capacity: capacity.Capacity
    _rt_enforcer: enforcer.Enforcer | None = None
    _rt_reconciler: reconcile.Reconciler | None = None

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        selfcheck.verify()
        rt_conf.register_opts(CONF)
        super().__init__(virtapi, read_only)
        self._host.__class__ = rt_host.RTHost
        self._host.rt_reservations = self

    def init_host(self, host: str) -> None:
        super().init_host(host)
        self._rt_init()

    def _rt_init(self) -> None:
        compute = self.virtapi._compute
        compute.__class__ = rt_manager.RTComputeManager
        compute.rt.__class__ = tracker.RTResourceTracker
        nova_rt.privsep.ping()
        files = self._rt_files()
        tasks = kernel_tasks.Tasks(files)
        interface = _interface(files)
        if interface is not None:
            self._rt_enforcer = enforcer.Enforcer(
                interface, tasks, CONF.nova_rt.guest_policy,
                CONF.nova_rt.guest_priority)
            self._rt_reconciler = reconcile.Reconciler(self._rt_enforcer)
        self._rt_measure()

    def _rt_measure(self) -> None:
        """What may be reserved: others may have taken of it, or given."""
        target = self._rt_enforcer
        found = capacity.measure(
            CONF, target.interface if target else None,
            self._get_vcpu_available(), target.partition if target else '')
        if found != getattr(self, 'rt_capacity', None):
            LOG.info('CPU reservations: %s.', found)
            self.rt_capacity = found

    def _rt_files(self) -> base.CgroupFS:
        """A seam: functional tests give each host a kernel of its own."""
        return kernel_fs.RealFS()

    def rt_claim(self, uuid: str) -> claims.RTClaim | None:
        context = nova_context.get_admin_context()
        try:
            instance = objects.Instance.get_by_uuid(
                context, uuid, expected_attrs=[
                    'flavor', 'resources', 'system_metadata'])
        except nova_exception.InstanceNotFound:
            return None  # not a server of this cloud
        claim = claims.of_instance(instance)
        if claim is None and request.reservation_of(instance) is not None:
            raise exception.ReservationNotApplied(
                uuid=uuid, reason='it asks for a CPU reservation and holds '
                'no claim; resize or rebuild it elsewhere')
        return claim

    def rt_enforcer(self) -> enforcer.Enforcer:
        if self._rt_enforcer is None:
            raise exception.ReservationNotApplied(
                uuid='with a CPU reservation',
                reason='the kernel offers no interface for it')
        return self._rt_enforcer

    def rt_pid(self, uuid: str) -> int:
        # Looked up anew: for LXC libvirt leaves the id in a domain object
        # as it was before the start.
        domain = self._host.get_connection().lookupByUUIDString(uuid)
        return int(domain.ID())

    def rt_release(self, uuid: str) -> None:
        try:
            pid = self.rt_pid(uuid)
            if self._rt_enforcer is not None and pid > 0:
                self._rt_enforcer.release(pid)
        except (exception.KernelError, LookupError, OSError,
                libvirt.libvirtError) as error:
            LOG.info('The budget of server %s goes when its group does: %s',
                     uuid, str(error))

    def rt_settle(self) -> None:
        try:
            if self._rt_enforcer is not None:
                self._rt_enforcer.settle()
        except exception.KernelError as error:
            LOG.info('A budget is left until the next audit: %s', str(error))

    def rt_reconcile(self, instances: Sequence[Any]) -> None:
        """Bring the kernel in step with the claims of *instances*."""
        try:
            self._rt_measure()
        except exception.RTError as error:
            LOG.error('CPU reservations: kept as they were: %s', str(error))
        if self._rt_reconciler is None:
            return
        held = {instance.uuid: claims.of_instance(instance)
                for instance in instances}
        running = {guest.uuid: guest for guest in self._rt_guests()}
        self._rt_reconciler.run([
            reconcile.RunningGuest(uuid, guest.id, held[uuid])
            for uuid, guest in running.items() if uuid in held])

    def _rt_guests(self) -> list[libvirt_guest.Guest]:
        return list(self._host.list_guests(only_running=True))

    def check_can_live_migrate_source(self, context: Any, instance: Any,
                                      *args: Any, **kwargs: Any) -> Any:
        # Nova makes no claim on the destination for servers without NUMA.
        if claims.of_instance(instance) is not None:
            raise nova_exception.MigrationPreCheckError(
                reason='a server with a CPU reservation cannot be migrated '
                       'while it runs; stop it and migrate it cold')
        return super().check_can_live_migrate_source(
            context, instance, *args, **kwargs)

    def destroy(self, *args: Any, **kwargs: Any) -> None:
        super().destroy(*args, **kwargs)
        self.rt_settle()

    def emit_event(self, event: virtevent.InstanceEvent) -> None:
        if (isinstance(event, virtevent.LifecycleEvent)
                and event.transition == virtevent.EVENT_LIFECYCLE_STOPPED):
            self.rt_settle()
        super().emit_event(event)

    def update_provider_tree(self, provider_tree: Any, nodename: str,
                             allocations: Any = None) -> None:
        before = provider_tree.data(nodename).inventory
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory = dict(provider_tree.data(nodename).inventory)
        ours = self._rt_inventory(before.get(hostmap.RESOURCE_CLASS))
        if ours:
            inventory[hostmap.RESOURCE_CLASS] = ours
            provider_tree.update_inventory(nodename, inventory)
        if self.rt_capacity.available:
            provider_tree.add_traits(nodename, hostmap.TRAIT)
        else:
            provider_tree.remove_traits(nodename, hostmap.TRAIT)

    def _rt_inventory(self, before: dict[str, Any] | None
                      ) -> dict[str, Any] | None:
        state = self.rt_capacity.empty
        if not self.rt_capacity.available:
            # Servers may still be allocated from it: it must stay, full.
            return before and before | {'reserved': before['total']}
        total = len(state.cpus) * reservation.PPM
        return {'total': total, 'reserved': total - state.total,
                'min_unit': 1, 'max_unit': state.total, 'step_size': 1,
                'allocation_ratio': 1.0}


def _interface(files: base.CgroupFS) -> base.KernelInterface | None:
    """:raises InvalidConfiguration: the option names no interface"""
    name = CONF.nova_rt.kernel_interface
    try:
        return detect.detect(files, name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='kernel_interface', value=name, rule=str(error)) from error
