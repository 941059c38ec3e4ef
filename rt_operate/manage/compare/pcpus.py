# SPDX-License-Identifier: Apache-2.0

"""The claims on each pCPU against the map that the host publishes."""

from collections.abc import Iterator

from nova_rt.rules import cpus
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def compare(host: snapshot.Host) -> Iterator[snapshot.Difference]:
    claims = [(claim.cpus, claim.reservation)
              for holding in host.holdings for claim in holding.claims]
    if host.published is None:
        if claims:
            yield snapshot.Difference(
                'map.missing', host.name, '', f'it publishes no map of its '
                f'pCPUs and has {len(claims)} claims',
                'the map of nova-rt in its stats', remedies.PLUGIN)
        return
    published = host.published.state
    if not published.cpus:
        return  # It takes no reservations now; those it has are kept.
    folded = cpus.CpuBandwidth.empty(
        published.cpus, published.cap, published.replicated,
        published.rule).fold([*claims, *(
            each for stranger in host.published.strangers
            for each in stranger.held)])
    yield from _over(host.name, folded)
    if (folded.used, folded.charged, folded.servers) != (
            published.used, published.charged, published.servers):
        yield snapshot.Difference(
            'map.stale', host.name, '',
            f'it publishes {_describe(published, folded)}',
            f'{_describe(folded, published)}, the sum of the claims',
            remedies.AUDIT)


def _over(host: str, state: cpus.CpuBandwidth
          ) -> Iterator[snapshot.Difference]:
    """pCPUs with more claims than the cap, or than the kernel can serve."""
    for cpu, servers in sorted(state.servers.items()):
        if state.rule is not None and not state.rule.holds(servers):
            yield snapshot.Difference(
                'pcpu.unschedulable', host, '', f'pCPU {cpu} has '
                f'{", ".join(map(str, servers))}', 'servers that the kernel '
                'can all give their runtime in each of their periods',
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
    """The pCPUs that differ."""
    differing = [f'{ppm} ppm on pCPU {cpu}' for cpu, ppm, instead
                 in zip(state.cpus, state.used, other.used, strict=True)
                 if ppm != instead]
    differing += [
        f'{", ".join(map(str, state.servers.get(cpu, ()))) or "no server"} '
        f'on pCPU {cpu}' for cpu in state.cpus
        if state.servers.get(cpu) != other.servers.get(cpu)]
    if state.charged != other.charged:
        differing.append(f'{state.charged} ppm in all')
    return ', '.join(differing)
