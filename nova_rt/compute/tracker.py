# SPDX-License-Identifier: Apache-2.0

"""The claim of exact pCPUs, inside Nova's resource tracker.

Nova's own lock and Nova's own book-keeping (``assigned_resources``) are
used; usage per pCPU is a fold over it and kept nowhere else.
"""

from collections.abc import Iterator
import contextlib
from typing import Any

from nova.compute import resource_tracker
from nova import exception as nova_exception
from nova import objects
from nova import utils
from oslo_log import log as logging

from nova_rt.compute import claims
from nova_rt.compute import request
from nova_rt import cpus
from nova_rt import exception
from nova_rt import hostmap
from nova_rt import reservation

LOG = logging.getLogger(__name__)

synchronized = utils.synchronized(
    resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True)


class RTResourceTracker(resource_tracker.ResourceTracker):
    """Nova's tracker that also claims pCPUs for reservations.

    RTLibvirtDriver makes the tracker of its compute manager one of these;
    there is no __init__, so that its state is Nova's alone.
    """

    assigned_resources: Any
    #: the claim being made, under the lock; (claim, Resource)
    _rt_pending: tuple[claims.RTClaim, Any] | None = None

    def rt_claims(self) -> list[claims.RTClaim]:
        """All claims on this host, moves under way included."""
        return [claim for provider in list(self.assigned_resources.values())
                for claim in claims.of_resources(
                    provider.get(hostmap.RESOURCE_CLASS))]

    def rt_state(self) -> cpus.CpuBandwidth:
        """What is claimed on each pCPU."""
        empty: cpus.CpuBandwidth = self.driver.rt_capacity.empty
        return empty.fold((claim.cpus, claim.reservation.bandwidth)
                          for claim in self.rt_claims())

    @synchronized
    def instance_claim(self, context: Any, instance: Any, nodename: str,
                       allocations: Any, limits: Any = None) -> Any:
        with self._rt_claiming(instance, None, nodename, move=0):
            claim = super().instance_claim(
                context, instance, nodename, allocations, limits)
            if self._rt_pending:
                # Nova saves Instance.resources some steps later; an audit in
                # between would lose the claim and over-commit.
                instance.save()
            return claim

    def _move_claim(self, context: Any, instance: Any, new_flavor: Any,
                    nodename: str, migration: Any, allocations: Any,
                    **kwargs: Any) -> Any:
        # Called with Nova's lock held.
        move = migration.id if migration else 0
        with self._rt_claiming(instance, new_flavor, nodename, move):
            return super()._move_claim(
                context, instance, new_flavor, nodename, migration,
                allocations, **kwargs)

    @contextlib.contextmanager
    def _rt_claiming(self, instance: Any, flavor: Any, nodename: str,
                     move: int) -> Iterator[None]:
        claim = None
        if not self.disabled(nodename):  # else Nova refuses it
            claim = self._rt_choose(instance, flavor, move)
        if claim is None:
            yield
            return
        resource = claim.to_resource(self.compute_nodes[nodename].uuid)
        self._rt_pending = claim, resource
        try:
            yield
        except BaseException:
            assigned = self.assigned_resources[resource.provider_uuid]
            assigned[hostmap.RESOURCE_CLASS].discard(resource)
            raise
        finally:
            self._rt_pending = None
        LOG.info('Claimed pCPUs %s for %s.', list(claim.cpus),
                 claim.reservation, instance=instance)

    def _rt_choose(self, instance: Any, flavor: Any, move: int
                   ) -> claims.RTClaim | None:
        """:raises ComputeResourcesUnavailable: no room, or no reservations"""
        try:
            wanted = request.reservation_of(instance, flavor)
        except exception.RTError as error:
            raise _refused(str(error)) from error
        if wanted is None:
            return None
        capacity = self.driver.rt_capacity
        if not capacity.available:
            raise _refused(
                f'this host takes no CPU reservations: {capacity.reason}')
        vcpus = (flavor or instance.flavor).vcpus
        chosen = cpus.fit(self.rt_state(), vcpus, wanted.bandwidth,
                          capacity.policy)
        if chosen is None:
            raise _refused(f'no {vcpus} pCPUs have room for {wanted}')
        return claims.RTClaim(instance.uuid, move, wanted, chosen,
                              _numbers(request.hints_of(instance)))

    def _claim_resources(self, allocations: Any) -> Any:
        claimed = super()._claim_resources(allocations)
        if not self._rt_pending:
            return claimed
        claim, resource = self._rt_pending
        _check_allocation(claim, resource.provider_uuid, allocations)
        self._add_assigned_resources([resource])
        return objects.ResourceList(
            objects=[*(claimed or ()), resource])

    def _populate_assigned_resources(self, context: Any,
                                     instance_by_uuid: Any) -> None:
        super()._populate_assigned_resources(context, instance_by_uuid)
        self.driver.rt_reconcile(
            [instance_by_uuid[uuid] for uuid in self.tracked_instances])

    def _check_resources(self, context: Any) -> None:
        # Nova compares with ProviderTree resources, where a pCPU share
        # cannot be listed unit by unit.
        everything = self.assigned_resources
        self.assigned_resources = {
            provider: {name: found for name, found in classes.items()
                       if name != hostmap.RESOURCE_CLASS}
            for provider, classes in everything.items()}
        try:
            super()._check_resources(context)
        finally:
            self.assigned_resources = everything

    def _update(self, context: Any, compute_node: Any, startup: bool = False
                ) -> None:
        published = self.driver.rt_capacity.published(self.rt_state())
        compute_node.stats = (dict(compute_node.stats or {})
                              | hostmap.to_stats(published))
        super()._update(context, compute_node, startup)


def _refused(reason: str) -> nova_exception.ComputeResourcesUnavailable:
    LOG.info('CPU reservation refused: %s', reason)
    return nova_exception.ComputeResourcesUnavailable(reason=reason)


def _check_allocation(claim: claims.RTClaim, provider_uuid: str,
                      allocations: Any) -> None:
    """Fail closed where the scheduler did not reserve in Placement."""
    needed = len(claim.cpus) * claim.reservation.bandwidth
    held = ((allocations or {}).get(provider_uuid, {}).get('resources', {})
            .get(hostmap.RESOURCE_CLASS, 0))
    if held < needed:
        raise _refused(
            f'Placement holds {held} of {hostmap.RESOURCE_CLASS} for the '
            f'server and it needs {needed}; is RTShareFilter enabled on '
            f'every nova-scheduler?')


def _numbers(hints: dict[str, Any]) -> dict[str, int]:
    return {key: value.number
            for key, value in reservation.hint_values(hints).items()}
