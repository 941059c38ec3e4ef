# SPDX-License-Identifier: Apache-2.0

"""Describes existing claims that exceed what the host may offer now."""

from collections.abc import Iterator, Sequence

from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules import reservation
from nova_rt.services.compute import capacity as rt_capacity
from nova_rt.services.compute import claims


def describe(capacity: rt_capacity.HostCapacity,
             claimed: Sequence[claims.RTClaim]) -> Iterator[str]:
    """Yields sentences for the operator about claims beyond the capacity."""
    if not claimed:
        return
    if not capacity.available:
        yield (f'{capacity.reason}; migrate or resize {_names(claimed)}')
        return
    state = capacity.empty.fold(claims.counted(claimed, capacity.empty))
    outside = [claim for claim in claimed if set(claim.cpus) - set(state.cpus)]
    if outside:
        yield (f'claims use pCPUs other than '
               f'{cpulist.format_ids(state.cpus)} of [nova_rt] rt_cpus; '
               f'migrate or resize {_names(outside)}')
    # If the kernel interface is replicated, all pCPUs hold the same.
    for cpu in state.cpus[:1] if state.replicated else state.cpus:
        if state.free(cpu) < 0:
            here = [claim for claim in claimed
                    if state.replicated or cpu in claim.cpus]
            beyond, cap = map(reservation.decimal,
                              (-state.free(cpu), state.cap))
            yield (f'pCPU {cpu} is claimed for {beyond} more than its cap of '
                   f'{cap}; migrate or resize one of {_names(here)}')
    yield from _beyond_cores(state, claimed)
    yield from _unschedulable(state, claimed)


def _beyond_cores(state: cpus.CpuBandwidth, claimed: Sequence[claims.RTClaim]
                  ) -> Iterator[str]:
    """Yields a sentence about each core whose threads exceed the cap."""
    for core in sorted(set(state.cores)) if state.counts_cores else ():
        ids = [cpu for cpu, its in zip(state.cpus, state.cores, strict=True)
               if its == core]
        used = sum(map(state.used_on, ids))
        if used > state.cap and all(state.free(cpu) >= 0 for cpu in ids):
            here = [claim for claim in claimed if set(ids) & set(claim.cpus)]
            yield (f'the pCPUs {cpulist.format_ids(ids)} of one core are '
                   f'claimed for {reservation.decimal(used - state.cap)} '
                   f'more than its cap of {reservation.decimal(state.cap)} '
                   f'([nova_rt] smt = core); migrate or resize one of '
                   f'{_names(here)}')


def _unschedulable(state: cpus.CpuBandwidth, claimed: Sequence[claims.RTClaim]
                   ) -> Iterator[str]:
    """Yields a sentence about each pCPU that cannot serve all its servers."""
    for cpu, servers in sorted(state.servers.items()):
        if state.rule is not None and not state.rule.holds(servers):
            here = [claim for claim in claimed if cpu in claim.cpus]
            yield (f'pCPU {cpu} cannot give all its servers their runtime in '
                   f'each of their periods; migrate or resize one of '
                   f'{_names(here)}')


def _names(some_claims: Sequence[claims.RTClaim]) -> str:
    names = sorted({claim.instance_uuid for claim in some_claims})
    return f'server{"s" * (len(names) > 1)} {", ".join(names)}'
