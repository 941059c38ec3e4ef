# SPDX-License-Identifier: Apache-2.0

"""Compares the claims on each pCPU with the map that the host publishes."""

from collections.abc import Iterator

from nova_rt.rules import cpus
from nova_rt.rules import words
from nova_rt.services.compute import claims as rt_claims
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def compare(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    """Yields the differences between claims and the published map."""
    claims = [claim for holding in host.holdings for claim in holding.claims]
    if host.published is None:
        if claims:
            yield snapshot.Difference(
                'map.missing', host.name, '', f'the host publishes no map of '
                f'its pCPUs but has {words.count(len(claims), "claim")}',
                'the map of nova-rt in the stats of the compute node',
                remedies.PLUGIN)
        return
    published = host.published.state
    if not published.cpus:
        return  # The host takes no new reservations and keeps those it has.
    empty = cpus.CpuBandwidth.empty(
        published.cpus, published.cap, published.replicated, published.rule)
    strangers = [claim for stranger in host.published.strangers
                 for claim in stranger.shares]
    folded = empty.fold([*rt_claims.counted(claims, empty), *strangers])
    yield from _over(host.name, folded)
    if (folded.used, folded.charged, folded.servers) != (
            published.used, published.charged, published.servers):
        yield snapshot.Difference(
            'map.stale', host.name, '',
            f'the host publishes {_describe(published, folded)}',
            f'{_describe(folded, published)}, the sum of the claims',
            remedies.AUDIT)


def _over(host: str, state: cpus.CpuBandwidth
          ) -> Iterator[snapshot.Difference]:
    """Yields the pCPUs whose claims exceed the cap or cannot be scheduled."""
    for cpu, servers in sorted(state.servers.items()):
        if state.rule is not None and not state.rule.holds(servers):
            yield snapshot.Difference(
                'pcpu.unschedulable', host, '', f'pCPU {cpu} has '
                f'{", ".join(map(str, servers))}', 'only servers that can all '
                'get their runtime in each of their periods from the kernel',
                remedies.LOWER)
    if state.replicated:
        if state.charged > state.cap:
            yield _full(host, 'all pCPUs together', state.charged, state.cap)
        return
    for cpu, ppm in zip(state.cpus, state.used, strict=True):
        if ppm > state.cap:
            yield _full(host, f'pCPU {cpu}', ppm, state.cap)


def _full(host: str, where: str, ppm: int, cap: int) -> snapshot.Difference:
    return snapshot.Difference(
        'pcpu.over', host, '', f'claims of {ppm} ppm on {where}',
        f'at most {cap} ppm', remedies.LOWER)


def _describe(state: cpus.CpuBandwidth, other: cpus.CpuBandwidth) -> str:
    """Returns the values of *state* on the pCPUs on which *other* differs."""
    differing = [f'{ppm} ppm on pCPU {cpu}' for cpu, ppm, other_ppm
                 in zip(state.cpus, state.used, other.used, strict=True)
                 if ppm != other_ppm]
    differing += [
        f'{", ".join(map(str, state.servers.get(cpu, ()))) or "no server"} '
        f'on pCPU {cpu}' for cpu in state.cpus
        if state.servers.get(cpu) != other.servers.get(cpu)]
    if state.charged != other.charged:
        differing.append(f'{state.charged} ppm in all')
    return ', '.join(differing)
