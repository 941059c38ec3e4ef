# SPDX-License-Identifier: Apache-2.0

"""Moves a vCPU of a server to another pCPU while the server runs.

A move is a change of the server's claim (see ``services.compute.change``).
The vCPU counts on its old pCPU until the move is complete, so that the host is
never over-committed, and at any time the vCPU has its reservation on one of
the two pCPUs.
"""

from collections.abc import Iterator
import dataclasses
from typing import Any

from nova.compute import vm_states
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import policies
from nova_rt.services.compute import change
from nova_rt.services.compute import claims
from nova_rt.services.compute import lock

#: The instance action of a move, for ``openstack server event list``.
ACTION = 'rt_move_vcpu'
#: The attributes that an instance must have here.
ATTRIBUTES = ['flavor', 'resources', 'system_metadata', 'numa_topology']

#: Why no vCPU of a host can move.
HELD = ('the kernel of this host does not let a vCPU leave its pCPU while '
        'the vCPU has a reservation; only sched_deadline does')


@lock.synchronized
def move_here(rt: Any, context: Any, instance: Any, source: int, target: int
              ) -> None:
    """Moves the vCPU that a server has on one pCPU to another pCPU.

    :param rt: the tracker of this host
    :param instance: as it is stored, with ATTRIBUTES
    :raises ComputeResourcesUnavailable: when the other pCPU has no room
    :raises Invalid: when the vCPU cannot move, or when Nova is working on the
        server
    """
    move(rt, context, instance, source, target)


def move(rt: Any, context: Any, instance: Any, source: int, target: int
         ) -> None:
    """Does the same as :func:`move_here`; the caller has Nova's lock."""
    if rt.driver.rt_holds_cpus():
        raise nova_exception.Invalid(HELD)
    old = change.sole_claim(rt, instance)
    _check(rt, instance, old, source, target)
    state = rt.rt_state()
    if cpus.fit_undivided(state, 1, old.in_kernel, policies.first_fit,
                          (target,)) is None:
        raise nova_exception.ComputeResourcesUnavailable(
            reason=f'pCPU {target} has no room for {old.reservation}')
    change.exchange(rt, context, instance, old, dataclasses.replace(
        old, cpus=tuple(target if cpu == source else cpu
                        for cpu in old.cpus)))


def _check(rt: Any, instance: Any, old: claims.RTClaim, source: int,
           target: int) -> None:
    """Checks that a server may move a vCPU from a pCPU to another one."""
    if source not in old.cpus:
        raise nova_exception.Invalid(
            f'the server has no vCPU with a reservation on pCPU {source}')
    if target in old.cpus:
        raise nova_exception.Invalid(
            f'the server has another vCPU on pCPU {target}')
    within = cells_of(rt, instance, old)
    if within and target not in within[old.cpus.index(source)]:
        raise nova_exception.Invalid(
            f'pCPU {target} is outside of the NUMA cell of the vCPU on pCPU '
            f'{source}')


def cells_of(rt: Any, instance: Any, claim: claims.RTClaim
             ) -> tuple[frozenset[int], ...]:
    """Returns the pCPUs among which each vCPU of a claim must stay.

    :returns: () for a server without a NUMA topology
    """
    topology = instance.numa_topology
    if topology is None:
        return ()
    host = objects.NUMATopology.obj_from_db_obj(
        rt.compute_nodes[instance.node].numa_topology)
    by_id = {cell.id: frozenset(cell.cpuset) for cell in host.cells}
    by_vcpu = {vcpu: by_id[cell.id] for cell in topology.cells
               for vcpu in cell.total_cpus}
    return tuple(by_vcpu[vcpu] for vcpu in sorted(claim.by_vcpu))


def movable(rt: Any, context: Any) -> Iterator[
        tuple[Any, arrangement.Placed]]:
    """Yields the servers of this host that may move now, and their claims.

    The caller has Nova's lock.  Servers that Nova works on, or that are being
    resized, stay where they are.
    """
    if rt.driver.rt_holds_cpus():
        return
    for instance in objects.InstanceList.get_by_host(
            context, rt.host, expected_attrs=ATTRIBUTES):
        if instance.task_state or instance.vm_state == vm_states.ERROR:
            continue
        try:
            claim = change.sole_claim(rt, instance)
        except (nova_exception.Invalid, exception.InvalidClaim):
            continue
        yield instance, arrangement.Placed(
            claim.cpus, claim.in_kernel, cells_of(rt, instance, claim))
