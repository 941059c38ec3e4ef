# SPDX-License-Identifier: Apache-2.0

"""The driver to name in ``[DEFAULT] compute_driver``.

The driver connects the parts in nova-compute: the tracker that claims, the
host and the guests that apply claims, and the inventory for Placement.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import nova.conf
from nova import exception as nova_exception
from nova.virt import event as virtevent
from nova.virt.libvirt import driver
from oslo_log import log as logging
from oslo_serialization import jsonutils

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import fs as kernel_fs
from nova_rt.machine import privsep
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import labels
from nova_rt.rules import report
from nova_rt.services import announce
from nova_rt.services.compute import capacity
from nova_rt.services.compute import claims
from nova_rt.services.compute import emulators
from nova_rt.services.compute import entitled
from nova_rt.services.compute import inplace
from nova_rt.services.compute import manager as rt_manager
from nova_rt.services.compute import spare
from nova_rt.services.compute import state
from nova_rt.services.compute import telling
from nova_rt.services.compute import tracker
from nova_rt.services import conf as rt_conf
from nova_rt.services import events
from nova_rt.services import install
from nova_rt.services import meditation
from nova_rt.services import selfcheck
from nova_rt.services.virt.libvirt import confinement
from nova_rt.services.virt.libvirt import description
from nova_rt.services.virt.libvirt import enforcer
from nova_rt.services.virt.libvirt import host as rt_host
from nova_rt.services.virt.libvirt import levels
from nova_rt.services.virt.libvirt import marks
from nova_rt.services.virt.libvirt import reconcile
from nova_rt.services.virt.libvirt import reservations
from nova_rt.services.virt.libvirt import selection
from nova_rt.services.virt.libvirt import started
from nova_rt.services.virt.libvirt import strangers

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTLibvirtDriver(driver.LibvirtDriver):
    """Nova's libvirt driver, with CPU reservations."""

    rt_capacity: capacity.HostCapacity
    _rt_reconciler: reconcile.Reconciler | None = None
    #: the pCPUs for emulator, I/O and vhost threads
    _rt_emulator_cpus: frozenset[int] = frozenset()
    #: why this host has no enforcer
    _rt_trouble = ''

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        selfcheck.verify()
        rt_conf.register_opts(CONF)
        super().__init__(virtapi, read_only)
        self.rt_reservations = reservations.Reservations(virtapi, self._host)
        self._rt_counts = report.Tally()
        self._rt_unserved = marks.Marks('unserved', labels.UNSERVED)
        self._rt_lost = strangers.Strangers(self.rt_reservations, self._host)
        self._rt_starts = started.Starts(
            self.rt_reservations, lambda: self._host.get_connection())
        install.become(self._host, rt_host.RTHost)
        self._host.rt_reservations = self.rt_reservations
        self._host.rt_dropped_capabilities = CONF.nova_rt.drop_capabilities
        self._host.rt_emulator_quota = rt_conf.emulator_quota(CONF)

    def init_host(self, host: str) -> None:
        announce.log_version('RTLibvirtDriver of nova-compute')
        meditation.register('nova-compute', lambda: state.describe(
            self.virtapi._compute.rt))
        super().init_host(host)
        self._rt_init()

    def _rt_init(self) -> None:
        compute = self.virtapi._compute
        install.become(compute, rt_manager.RTComputeManager)
        install.become(compute.rt, tracker.RTResourceTracker)
        privsep.ping()
        self._rt_begin()

    def _rt_begin(self) -> None:
        """Finds the enforcer of this host and measures its capacity."""
        try:
            namespaces.verify(host_files.Host())
            target = self.rt_reservations.enforcer = self._rt_find()
            if CONF.nova_rt.emulator_cpus and not selection.moves_emulators(
                    target):
                LOG.warning(
                    '[nova_rt] emulator_cpus has no effect on this host: '
                    'emulator threads are moved only with the kernel '
                    'interface sched_deadline, if this interface keeps each '
                    'vCPU on its pCPU.')
            if target is not None:
                self._rt_reconciler = reconcile.Reconciler(target)
        except (exception.KernelError, exception.OutsideHost) as error:
            self._rt_trouble = exception.clause(error)
        self._rt_measure()

    def _rt_find(self) -> enforcer.Enforcer | None:
        """Returns the enforcer of this host; None if there is none."""
        return selection.select(
            self._rt_files(), self._get_vcpu_available, self._rt_cpus,
            lambda: self._rt_emulator_cpus)

    def _rt_cpus(self) -> emulators.HostCPUs:
        """Returns the pCPUs of this host, by their use."""
        return emulators.HostCPUs(
            self._host.get_online_cpus(), self._get_vcpu_available(),
            self._get_pcpu_available(), self.rt_capacity.empty.cpus)

    def _rt_measure(self) -> None:
        """Measures the capacity again: other tasks may have changed it."""
        measured = capacity.measure(
            CONF, self.rt_reservations.enforcer, self._get_vcpu_available(),
            self._rt_trouble)
        if measured != getattr(self, 'rt_capacity', None):
            LOG.info('CPU reservations: %s.', measured)
            self.rt_capacity = measured
        self._rt_emulator_cpus = emulators.cpus(
            CONF.nova_rt.emulator_cpus, self._rt_cpus())

    def _rt_files(self) -> cgroup.CgroupFS:
        """Returns the cgroup files; tests give each host its own kernel."""
        return kernel_fs.RealFS()

    def _get_guest_idmaps(self) -> list[Any]:
        return confinement.sendable(super()._get_guest_idmaps())

    def _get_guest_config(self, instance: Any, network_info: Any,
                          *args: Any, **kwargs: Any) -> Any:
        # An operator may start a server that a killed move has left here.
        self.virtapi._compute.rt.rt_adopt(instance)
        guest = super()._get_guest_config(
            instance, network_info, *args, **kwargs)
        guest.metadata.append(description.describe(instance, network_info))
        return guest

    # The following method is for the compute manager.

    def rt_describe(self, instance: Any) -> None:
        """Updates the description of a server in libvirt; never raises."""
        try:
            guest = self._host.get_guest(instance)
            if guest.is_active():
                description.tell(guest._domain, description.describe(
                    instance, instance.get_network_info()))
        except nova_exception.InstanceNotFound:
            # The server has no domain now; its next start writes the
            # description.
            pass
        except Exception as error:
            # Only monitoring uses the description.
            LOG.warning('nova-rt-monitor does not know the new addresses of '
                        'server %s: %s',
                        instance.uuid, str(error))

    # The following methods are for the tracker.

    @property
    def rt_tally(self) -> report.Tally:
        """The counts of this nova-compute."""
        self._rt_counts.missed = self.rt_reservations.missed
        return self._rt_counts

    def rt_settle(self) -> None:
        """Removes the room that an ended guest left; never raises."""
        self.rt_reservations.settle()

    def rt_apply(self, claim: claims.RTClaim) -> None:
        """Gives the guest of a server another claim, if the guest runs.

        :raises RTError: when the guest does not get it
        """
        self.rt_reservations.change(claim)

    def rt_level(self, targets: Sequence[spare.Target],
                 lowers_only: bool = False) -> None:
        """Gives guests with soft reservations the runtimes of *targets*.

        :raises KernelError: when a runtime cannot be made shorter
        """
        levels.level(self.rt_reservations, targets, lowers_only)

    def rt_holds_cpus(self) -> bool:
        """Checks whether no vCPU can leave its pCPU while it is reserved."""
        return self.rt_reservations.holds_cpus()

    def rt_stays(self, instance: Any) -> bool:
        """Checks whether the vCPUs of a server must keep their pCPUs."""
        return (instance.numa_topology is not None
                or self.rt_reservations.holds_cpus())

    def rt_running(self) -> list[str]:
        """Returns the uuids of the running guests."""
        return [uuid for uuid, pid in self.rt_reservations.running() if pid]

    def rt_strangers(self, known: Collection[str]) -> list[hostmap.Stranger]:
        """Returns the guests with a budget whose uuids are not *known*."""
        return self._rt_lost.find(known)

    def rt_reconcile(self, entitlements: Mapping[str, entitled.Entitlement]
                     ) -> None:
        """Corrects the budgets of guests that differ from entitlements.

        :param entitlements: by server; the guests of other servers, and
            guests that are being started or ended now, stay as they are
        """
        try:
            self._rt_measure()
        except exception.RTError as error:
            LOG.error('The capacity for CPU reservations was not measured '
                      'again: %s', str(error))
        if self._rt_reconciler is None:
            return
        ours = self.rt_reservations
        running = list(ours.running())
        self._rt_reconciler.run([
            reconcile.RunningGuest(uuid, pid, ours.preferred(
                uuid, entitlements[uuid].allowed), entitlements[uuid].settled)
            for uuid, pid in running if pid and uuid in entitlements
            and not ours.is_handled(uuid)], [pid for _, pid in running])
        self._rt_counts.corrected += self._rt_reconciler.corrected
        self._rt_counts.unserved = len(self._rt_reconciler.unserved)
        self._rt_unserved.put(self._rt_reconciler.unserved, {
            guest.uuid: guest._domain for guest
            in self._host.list_guests(only_running=True)})

    def check_can_live_migrate_destination(
            self, context: Any, instance: Any, *args: Any, **kwargs: Any
            ) -> Any:
        result = super().check_can_live_migrate_destination(
            context, instance, *args, **kwargs)
        if _claims(instance):
            # By this value a destination says that it makes claims.
            result.dst_supports_numa_live_migration = True
        return result

    def check_can_live_migrate_source(
            self, context: Any, instance: Any, dest_check_data: Any,
            *args: Any, **kwargs: Any) -> Any:
        result = super().check_can_live_migrate_source(
            context, instance, dest_check_data, *args, **kwargs)
        if _claims(instance):
            if not _makes_claims(dest_check_data):
                raise nova_exception.MigrationPreCheckError(
                    reason='the destination makes no claim for the CPU '
                    'reservation; its nova-compute needs [DEFAULT] '
                    'compute_driver = nova_rt.RTLibvirtDriver')
            # By this value the source asks the destination for its claim.
            result.src_supports_numa_live_migration = True
        return result

    def post_claim_migrate_data(self, context: Any, instance: Any,
                                migrate_data: Any, claim: Any) -> Any:
        if claim.claimed_numa_topology is None:
            # Nova expects a NUMA topology with every claim, and would
            # otherwise send pins without a value to the source.
            return migrate_data
        return super().post_claim_migrate_data(
            context, instance, migrate_data, claim)

    def post_live_migration_at_source(self, *args: Any, **kwargs: Any
                                      ) -> None:
        super().post_live_migration_at_source(*args, **kwargs)
        self.rt_settle()

    def post_live_migration_at_destination(
            self, context: Any, instance: Any, *args: Any, **kwargs: Any
            ) -> None:
        self.virtapi._compute.rt.rt_arrived(instance)
        super().post_live_migration_at_destination(
            context, instance, *args, **kwargs)
        self._rt_starts.heed(instance.uuid)

    def rollback_live_migration_at_destination(
            self, context: Any, instance: Any, *args: Any, **kwargs: Any
            ) -> None:
        # Nova has given the server object the claim that was made here, and
        # stores the server after it has deleted the disks here.  The claim
        # must not be stored.
        instance.obj_reset_changes(['resources'], recursive=True)
        super().rollback_live_migration_at_destination(
            context, instance, *args, **kwargs)

    def destroy(self, context: Any, instance: Any, *args: Any,
                **kwargs: Any) -> None:
        if inplace.is_reverting(instance):
            # Nova drops the new claim next, so that the guest must have its
            # old reservation by then.
            return self._rt_give(instance, inplace.old_claim(instance))
        super().destroy(context, instance, *args, **kwargs)
        self.rt_settle()

    # The following methods are for a resize in which the guest stays.

    def migrate_disk_and_power_off(self, context: Any, instance: Any,
                                   *args: Any, **kwargs: Any) -> Any:
        if not inplace.stays(instance):
            return super().migrate_disk_and_power_off(
                context, instance, *args, **kwargs)
        self._rt_give(instance, claims.destination_claim(instance))
        return jsonutils.dumps([])

    def finish_migration(self, context: Any, migration: Any, instance: Any,
                         *args: Any, **kwargs: Any) -> None:
        if not self._rt_runs_on(instance):
            super().finish_migration(context, migration, instance, *args,
                                     **kwargs)
        if migration.source_compute != migration.dest_compute:
            telling.moved(instance, events.COLD)

    def finish_revert_migration(self, context: Any, instance: Any,
                                *args: Any, **kwargs: Any) -> None:
        if self._rt_runs_on(instance):
            # If nova-compute was killed, the guest may have the new
            # reservation.
            self._rt_give(instance, claims.instance_claim(instance))
        else:
            super().finish_revert_migration(context, instance, *args,
                                            **kwargs)

    def _rt_runs_on(self, instance: Any) -> bool:
        """Checks whether a guest runs, and keeps running during a resize."""
        return inplace.stays(instance) and instance.uuid in self.rt_running()

    def _rt_give(self, instance: Any, claim: claims.RTClaim | None) -> None:
        """Gives the reservation of a claim to a guest that keeps running.

        :raises InstanceFaultRollback: when the guest keeps its old reservation
        """
        try:
            if claim is not None:
                self.rt_apply(claim)
        except exception.RTError as error:
            raise nova_exception.InstanceFaultRollback(
                nova_exception.ResizeError(
                    reason=exception.clause(error))) from error

    def emit_event(self, event: virtevent.InstanceEvent) -> None:
        try:
            self._rt_heed(event)
        except Exception:
            # An exception would end Nova's thread for events, which other
            # code needs, too.
            LOG.exception('An event of server %s was not handled; the next '
                          'audit corrects its CPU reservation.', event.uuid)
        finally:
            super().emit_event(event)

    def _rt_heed(self, event: virtevent.InstanceEvent) -> None:
        if not isinstance(event, virtevent.LifecycleEvent):
            return
        if event.transition == virtevent.EVENT_LIFECYCLE_STOPPED:
            self.rt_settle()
        elif (event.transition == virtevent.EVENT_LIFECYCLE_STARTED
              and not self.rt_reservations.is_handled(event.uuid)):
            if self._rt_starts.heed(event.uuid):
                self.rt_reservations.note(event.uuid)

    def update_provider_tree(self, provider_tree: Any, nodename: str,
                             allocations: Any = None) -> None:
        before = provider_tree.data(nodename).inventory
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory = dict(provider_tree.data(nodename).inventory)
        provider_tree.update_inventory(
            nodename, inventory | self._rt_inventory(before))
        traits = self._rt_traits()
        provider_tree.remove_traits(
            nodename, *hostmap.TRAITS.difference(traits))
        provider_tree.add_traits(nodename, *traits)

    def _rt_traits(self) -> frozenset[str]:
        target = self.rt_reservations.enforcer
        if target is None or not self.rt_capacity.available:
            return frozenset()
        return target.traits | {hostmap.TRAIT}

    def _rt_inventory(self, before: Mapping[str, dict[str, Any]]
                      ) -> dict[str, dict[str, Any]]:
        if self.rt_capacity.available:
            return hostmap.inventories(
                self.rt_capacity.empty,
                self.virtapi._compute.rt.rt_strangers)
        # Servers may still have allocations from the inventories, so the
        # inventories stay, with everything reserved.
        return {name: inventory | {'reserved': inventory['total']}
                for name, inventory in before.items()
                if name in hostmap.CLASSES}


def _claims(instance: Any) -> bool:
    """Checks whether a server that is to be migrated has a claim.

    :raises MigrationPreCheckError: when its claim cannot be read
    """
    try:
        return claims.instance_claim(instance) is not None
    except exception.InvalidClaim as error:
        raise nova_exception.MigrationPreCheckError(
            reason=str(error)) from error


def _makes_claims(checked: Any) -> bool:
    """Checks whether a destination says that it makes claims.

    The field of Nova's object has no value if nobody set it.
    """
    name = 'dst_supports_numa_live_migration'
    return name in checked and bool(getattr(checked, name))
