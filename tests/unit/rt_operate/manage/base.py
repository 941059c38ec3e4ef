# SPDX-License-Identifier: Apache-2.0

"""Hosts that are in order, for tests to damage."""

import dataclasses
import uuid

from nova_rt.machine.kernel import base
from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from rt_operate.manage import snapshot

PROVIDER = str(uuid.UUID(int=1))
CAP = 950_000
GUESTS = '/machine'


def server_id(number):
    return str(uuid.UUID(int=1000 + number))


def holding(number=0, ids=(0,), runtime=100_000, period=200_000, **fields):
    """Returns a server with a claim on the pCPUs *ids*, if there are any."""
    uid = server_id(number)
    wanted = reservation.Reservation(runtime, period) if ids else None
    held = (claims.RTClaim(uid, 0, wanted, tuple(ids)),) if ids else ()
    return snapshot.Holding(**{
        'server': uid, 'consumer': uid, 'vcpus': len(ids) or 1,
        'wanted': wanted, 'claims': held,
        'providers': frozenset((PROVIDER,) if ids else ())} | fields)


def allocation(one):
    """Returns the allocation that Placement should have for a holding."""
    found = {'VCPU': one.vcpus, 'MEMORY_MB': 64}
    for claim in one.claims:
        found |= hostmap.amounts(len(claim.cpus),
                                 claim.reservation.bandwidth)
    return found


def budget(claim):
    return base.Budget(
        dict.fromkeys(claim.cpus, claim.reservation.runtime_us),
        claim.reservation.period_us)


def leaf(one):
    """Returns the group of a container, which holds the right budget."""
    wanted = budget(one.claims[0]) if one.claims else None
    return snapshot.Leaf(f'{GUESTS}/lxc-{one.server}', wanted, wanted)


def host(*holdings, pcpus=4, replicated=False, **fields):
    """A host that is in order, with these servers."""
    empty = cpus.CpuBandwidth.empty(range(pcpus), CAP, replicated)
    state = empty.fold(claims.counted(
        (claim for one in holdings for claim in one.claims), empty))
    kernel = snapshot.KernelBudgets(replicated, {
        one.server: (leaf(one),) for one in holdings if one.current})
    return snapshot.HostSnapshot(**{
        'name': 'host1', 'provider': PROVIDER,
        'published': hostmap.HostMap(state, 'worst_fit'),
        'holdings': holdings,
        'allocations': {one.consumer: allocation(one) for one in holdings},
        'inventories': hostmap.inventories(empty),
        'kernel': kernel} | fields)


replace = dataclasses.replace
