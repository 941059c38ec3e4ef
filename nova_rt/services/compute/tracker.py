# SPDX-License-Identifier: Apache-2.0

"""Claims exact pCPUs inside Nova's resource tracker.

The tracker uses Nova's own lock and Nova's own bookkeeping
(``assigned_resources``).  The usage of each pCPU is always computed from the
bookkeeping and stored nowhere else.
"""

from collections.abc import (
    Collection, Iterator, Mapping, Sequence)
import contextlib
from typing import Any

import nova.conf
from nova import objects
from oslo_log import log as logging
from oslo_utils import excutils

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import words
from nova_rt.services.compute import adoption
from nova_rt.services.compute import allocations
from nova_rt.services.compute import choosing
from nova_rt.services.compute import claims
from nova_rt.services.compute import counting
from nova_rt.services.compute import entitled
from nova_rt.services.compute import lock
from nova_rt.services.compute import neighbours
from nova_rt.services.compute import numa
from nova_rt.services.compute import overcommit
from nova_rt.services.compute import policy
from nova_rt.services.compute import refusals
from nova_rt.services.compute import reporting
from nova_rt.services.compute import request
from nova_rt.services.compute import spare
from nova_rt.services.compute import strangers as rt_strangers
from nova_rt.services.compute import telling
from nova_rt.services import events

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTResourceTracker(neighbours.NeighbourTracker):
    """Nova's tracker that also claims pCPUs for reservations.

    RTLibvirtDriver gives this class to the existing tracker of its compute
    manager.  Therefore the class has no __init__.
    """

    assigned_resources: Any
    #: the claim being made, under the lock; (claim, Resource)
    _rt_pending: tuple[claims.RTClaim, Any] | None = None
    #: what Nova's claim is shown of the host; set with _rt_pending
    _rt_shown: contextlib.ExitStack

    #: True after the first audit, which finds the claims that count here
    _rt_audited = False
    #: servers of this host that ask for no reservation
    _rt_plain: frozenset[str] = frozenset()
    #: guests that hold a budget here, and that Nova does not have here
    rt_strangers: tuple[hostmap.Stranger, ...] = ()
    #: the last warning about claims that do not fit the host
    _rt_said = ''
    #: the packing policy that the last audit found
    _rt_policy: policy.Policy | None = None
    #: how many differences the last audit found
    rt_findings = 0

    def rt_claims(self) -> list[claims.RTClaim]:
        """Returns all claims on this host, also those of moves under way.

        :raises InvalidClaim: when a claim cannot be read
        """
        return claims.parse_resources(self._rt_resources())

    def rt_server_claims(self, uuid: str) -> list[claims.RTClaim] | None:
        """Returns the claims of a server here; None if they are not known."""
        try:
            own = [claim for claim in self.rt_claims()
                   if claim.instance_uuid == uuid]
        except exception.InvalidClaim:
            return None
        return own if own or self.rt_is_plain(uuid) else None

    def rt_is_plain(self, uuid: str) -> bool:
        """Checks that a server here asks for no reservation and holds none.

        The answer comes from the last audit, and is False if this audit did
        not know the server.
        """
        return uuid in self._rt_plain and uuid not in map(
            counting.server_of, self._rt_resources())

    @property
    def rt_policy(self) -> policy.Policy:
        """The policy that chooses pCPUs on this host."""
        return self._rt_policy or policy.of_option(CONF)

    def rt_state(self) -> cpus.CpuBandwidth:
        """Returns the bandwidth that claims and strangers take from pCPUs.

        :raises InvalidClaim: when a claim cannot be read
        """
        return self._rt_claimed().fold(
            rt_strangers.all_shares(self.rt_strangers))

    def _rt_claimed(self) -> cpus.CpuBandwidth:
        empty: cpus.CpuBandwidth = self.driver.rt_capacity.empty
        return empty.fold(claims.counted(self.rt_claims(), empty))

    @lock.synchronized
    def instance_claim(self, context: Any, instance: Any, nodename: str,
                       allocations: Any, limits: Any = None) -> Any:
        with refusals.counted(
                self.driver.rt_tally, instance.uuid), self._rt_claiming(
                instance, None, nodename, 0, limits):
            claim = super().instance_claim(
                context, instance, nodename, allocations, limits)
            if self._rt_pending:
                # Nova saves Instance.resources some steps later.  An audit
                # in between would lose the claim, and pCPUs would be
                # over-committed.
                try:
                    instance.save()
                except Exception:
                    with excutils.save_and_reraise_exception():
                        claim.abort()
            return claim

    def _move_claim(self, context: Any, instance: Any, new_flavor: Any,
                    nodename: str, migration: Any, allocations: Any,
                    **kwargs: Any) -> Any:
        # Called with Nova's lock held.
        move = migration.id if migration else 0
        with refusals.counted(
                self.driver.rt_tally, instance.uuid), self._rt_claiming(
                instance, new_flavor, nodename, move, kwargs.get('limits'),
                kwargs.get('image_meta')):
            return super()._move_claim(
                context, instance, new_flavor, nodename, migration,
                allocations, **kwargs)

    def drop_move_claim(self, *args: Any, **kwargs: Any) -> None:
        super().drop_move_claim(*args, **kwargs)
        # If a live migration failed, libvirt has ended the incoming guest,
        # but sends its event much later.  Groups above the guest must not
        # keep room that another guest could take.
        self.driver.rt_settle()

    def rt_abandon(self, context: Any, instance: Any, nodename: str) -> None:
        """Releases the claim of a failed live migration to this host.

        A server without a claim that counts here is not changed.
        """
        made = instance.migration_context
        if made and self._rt_resources() & set(made.new_resources or ()):
            self.drop_move_claim(context, instance, nodename,
                                 flavor=instance.flavor)
            instance.drop_migration_context()

    def rt_replace(self, old: claims.RTClaim, new: claims.RTClaim) -> None:
        """Counts another claim of a server instead of its present one.

        The caller has Nova's lock, and has checked that *new* fits.
        """
        for provider in self.rt_providers():
            counted = self.assigned_resources.get(provider, {}).get(
                hostmap.RESOURCE_CLASS, set())
            if old.to_resource(provider) in counted:
                counted.discard(old.to_resource(provider))
                counted.add(new.to_resource(provider))

    @contextlib.contextmanager
    def _rt_claiming(self, instance: Any, flavor: Any, nodename: str,
                     move: int, limits: Any, image_meta: Any = None
                     ) -> Iterator[None]:
        claim = None
        if not self.disabled(nodename):  # Otherwise Nova refuses the server.
            node = self.compute_nodes[nodename]
            claim, cells = choosing.choose(
                self, instance, flavor, move, lambda: numa.claim_question(
                    node, self.pci_tracker.stats, instance, flavor,
                    image_meta, limits))
            if claim is None and flavor is None:
                self._rt_plain |= {instance.uuid}
        if claim is None:
            yield
            return
        resource = claim.to_resource(node.uuid)
        self._rt_pending = claim, resource
        try:
            with numa.show(node, cells) as self._rt_shown:
                yield
        except BaseException:
            assigned = self.assigned_resources[resource.provider_uuid]
            assigned[hostmap.RESOURCE_CLASS].discard(resource)
            raise
        finally:
            self._rt_pending = None
        LOG.info('Claimed %s for %s (in the kernel %s).',
                 words.ids(claim.cpus), claim.reservation, claim.in_kernel,
                 instance=instance)
        events.admitted(claim)

    def _claim_resources(self, allocations: Any) -> Any:
        if self._rt_pending:
            self._rt_shown.close()  # Usage counts on all cells.
        claimed = super()._claim_resources(allocations)
        if not self._rt_pending:
            return claimed
        claim, resource = self._rt_pending
        refusals.check_allocation(claim, resource.provider_uuid, allocations)
        self._add_assigned_resources([resource])
        spare.make_room(self)
        return objects.ResourceList(
            objects=[*(claimed or ()), resource])

    def _release_assigned_resources(self, resources: Any) -> None:
        before = self._rt_resources()
        super()._release_assigned_resources(resources)
        telling.released(before, self._rt_resources())
        spare.level(self)

    def _populate_assigned_resources(self, context: Any,
                                     instance_by_uuid: Any) -> None:
        self._rt_policy = policy.of_host(context, self.host, CONF,
                                         self.rt_policy)
        before = self._rt_resources()
        known = {uuid: move.instance
                 for uuid, move in self.tracked_migrations.items()}
        for uuid in self.tracked_instances:
            known[uuid] = instance_by_uuid[uuid]
            self._rt_adopt(known[uuid])
        self._rt_plain = frozenset(
            uuid for uuid in self.tracked_instances
            if request.is_plain(known[uuid]))
        super()._populate_assigned_resources(context, instance_by_uuid)
        strays, elsewhere = self._rt_keep(context, before, known)
        telling.released(before, self._rt_resources())
        self.driver.rt_reconcile(entitled.entitlements(
            known, self.host, self._rt_resources(), not self._rt_audited))
        self._rt_count_strangers(known, elsewhere)
        spare.level(self)
        self._rt_audited = True
        self._rt_report(strays, self._rt_unpaid(context, known))

    def _rt_keep(self, context: Any, before: set[Any],
                 known: dict[str, Any]
                 ) -> tuple[list[Any], dict[str, Any]]:
        """Counts claims that the audit of Nova has not seen (see counting).

        :param before: the claims that counted until now
        :param known: the servers that Nova counts, by uuid; other servers are
            added if their guest runs here or their claim counts here
        :returns: two groups of servers whose guest runs here while Nova has
            the server on another host: as a list, the servers with a claim
            that counts here; by uuid, the other servers, except those that are
            *known*
        """
        missed = set(map(counting.server_of, before - self._rt_resources()))
        if not self._rt_audited:
            for name in list(self.compute_nodes):
                missed |= counting.servers_under_way(context, self.host, name)
        running = set(self.driver.rt_running())
        strays, elsewhere = [], {}
        for uuid in missed | (running - known.keys()):
            instance = counting.instance(context, uuid)
            if instance is None:
                continue
            counted = counting.resources(
                instance, self.host, self.rt_providers(), uuid in running)
            self._add_assigned_resources(counted)
            gone = rt_strangers.is_elsewhere(instance, self.host)
            if counted and gone:
                strays.append(instance)
            if not counted and gone and uuid not in known:
                elsewhere[uuid] = instance
            elif counted or uuid in running:
                known.setdefault(uuid, instance)
        return strays, elsewhere

    def _rt_count_strangers(self, known: Collection[str],
                            elsewhere: Mapping[str, Any]) -> None:
        """Counts the guests on this host that the database does not have here.

        :param known: uuids of the servers that the database has here
        :param elsewhere: the servers that the database has on other hosts, by
            uuid
        """
        located = rt_strangers.located(
            self.driver.rt_strangers(known), elsewhere)
        # _rt_report() reports a claim that cannot be read.
        with contextlib.suppress(exception.InvalidClaim):
            self.rt_strangers = rt_strangers.place(located,
                                                   self._rt_claimed())

    def _rt_unpaid(self, context: Any, known: Mapping[str, Any]
                   ) -> list[str]:
        """Returns the servers for which Placement has allocated too little.

        Only servers without an operation under way are checked.
        """
        resting = {uuid for uuid in self.tracked_instances
                   if uuid not in self.tracked_migrations
                   and uuid in known and known[uuid].task_state is None}
        unpaid: list[str] = []
        for provider in self.rt_providers():
            with contextlib.suppress(exception.InvalidClaim):
                own = [claim for claim in self.rt_claims()
                       if claim.instance_uuid in resting]
                allocated = allocations.by_consumer(
                    self.reportclient, context, provider) if own else None
                if allocated is not None:
                    unpaid += allocations.missing(own, allocated)
        return unpaid

    def rt_providers(self) -> set[str]:
        """Returns the uuids of this host's compute nodes.

        While nova-compute starts, the host has no compute node yet.
        """
        return {node.uuid for node in list(self.compute_nodes.values())}

    def _rt_resources(self) -> set[Any]:
        """Returns all claims on this host, readable or not."""
        return {resource for provider in self.rt_providers()
                for resource in list(self.assigned_resources.get(
                    provider, {}).get(hostmap.RESOURCE_CLASS, ()))}

    def rt_arrived(self, instance: Any) -> None:
        """Stores the claim of a server that was live-migrated to this host.

        Before this call, only the migration context has the claim.  Nova drops
        the context before Nova stores the claim with the server.  Without this
        method, the claim would be stored nowhere for a moment.
        """
        if instance.migration_context is not None:
            instance.resources = instance.migration_context.new_resources
            instance.save()
            telling.moved(instance, events.LIVE)

    def _rt_adopt(self, instance: Any) -> None:
        """Gives a server on this host the claim that was made for it here.

        If nova-compute was killed while it took the server over, the server
        still has its claim on the host that it came from.
        """
        ours = self.rt_adopt(instance)
        if ours is None:
            return
        if (instance.task_state is None
                and instance.uuid in self.tracked_instances):
            instance.save()
            LOG.warning('The move of the server was not completed; the '
                        'server holds %s, claimed here.',
                        words.ids(ours.cpus), instance=instance)
        instance.obj_reset_changes(adoption.ATTRIBUTES)

    def rt_adopt(self, instance: Any) -> claims.RTClaim | None:
        """Gives a server the claim and the cells of this host, in memory.

        :returns: None if nothing has changed
        """
        return adoption.adopt(instance, self.host, self.rt_providers())

    def _rt_report(self, strays: Sequence[Any], unpaid: Sequence[str]
                   ) -> None:
        """Warns about claims that the host cannot keep, once for each change.

        The reason may be that an operator lowered the cap, removed pCPUs or
        switched reservations off, that a claim is damaged, or that a guest
        runs on another host than the database says.  No server loses its
        reservation.
        """
        try:
            warnings = [
                *overcommit.describe(self.driver.rt_capacity,
                                     self.rt_claims()),
                *(f'server {stray.uuid} runs here, but Nova has it on '
                  f'{stray.host}: end the guest here, then hard-reboot the '
                  f'server' for stray in strays),
                *map(rt_strangers.sentence, self.rt_strangers),
                *([allocations.sentence(unpaid)] if unpaid else ())]
        except exception.InvalidClaim as error:
            warnings = [f'this host takes no more reservations: {error}']
        self.rt_findings, warning = len(warnings), '; '.join(warnings)
        if warning and warning != self._rt_said:
            LOG.warning('CPU reservations: %s.', warning)
        self._rt_said = warning

    def _check_resources(self, context: Any) -> None:
        # Claims are hidden from Nova's check.  It compares with the resources
        # of the ProviderTree, which cannot list a share of a pCPU unit by
        # unit, and at the end of a live migration a server already holds a
        # claim of a provider on another host.
        everything = self.assigned_resources
        self.assigned_resources = {
            provider: others for provider, classes in everything.items()
            if (others := {name: assigned for name, assigned in classes.items()
                           if name != hostmap.RESOURCE_CLASS})}
        try:
            super()._check_resources(context)
        finally:
            self.assigned_resources = everything

    def rt_map(self) -> hostmap.HostMap:
        """Returns the map that this host publishes.

        The map offers nothing while a claim cannot be read.
        """
        capacity = self.driver.rt_capacity
        published: hostmap.HostMap
        try:
            published = capacity.published(self.rt_state(), self.rt_policy,
                                           self.rt_strangers)
        except exception.InvalidClaim as error:
            published = capacity.nothing(self.rt_policy,
                                         exception.clause(error))
        return published

    def _update(self, context: Any, compute_node: Any, startup: bool = False
                ) -> None:
        published = self.rt_map()
        compute_node.stats = (dict(compute_node.stats or {})
                              | hostmap.to_stats(published)
                              | self.rt_neighbour_stats())
        super()._update(context, compute_node, startup)
        self._rt_tell(published)

    def _rt_tell(self, published: hostmap.HostMap) -> None:
        """Reports the reservations to the monitor."""
        path = CONF.nova_rt.report_file
        if not path:
            return
        claimed = 0
        with contextlib.suppress(exception.InvalidClaim):
            claimed = reporting.taken(self._rt_claimed())
        servers = set(map(counting.server_of, self._rt_resources()))
        reporting.write(reporting.make(
            published, claimed, len(servers), self.rt_findings,
            self.driver.rt_tally), path)
