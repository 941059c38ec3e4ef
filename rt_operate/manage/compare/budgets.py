# SPDX-License-Identifier: Apache-2.0

"""Compares the claims of running servers with the budgets in the kernel."""

from collections.abc import Iterator

from nova_rt.machine.kernel import base
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def compare(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    """Yields the differences between claims and budgets on a host."""
    if host.kernel is None:
        return
    moving = {holding.server for holding in host.holdings if holding.moving}
    for server, leaves in host.kernel.guests.items():
        for leaf in leaves:
            if server not in moving and not _equal(
                    leaf, host.kernel.replicated):
                yield snapshot.Difference(
                    'budget', host.name, server, f'the kernel holds '
                    f'{_describe(leaf.budget)} for {leaf.group}',
                    _describe(leaf.wanted), remedies.AUDIT)
    for group, ppm in host.kernel.strays.items():
        yield snapshot.Difference(
            'budget.stray', host.name, '', f'the kernel holds {ppm} ppm for '
            f'{group}, which belongs to no server with a claim', 'no budget',
            remedies.STRAY)
    for group, ppm in host.kernel.room.items():
        yield snapshot.Difference(
            'budget.room', host.name, '', f'{group} holds {ppm} ppm more than '
            'the groups below it, and a guest could take the difference',
            'as much as the groups below it', remedies.AUDIT)


def _equal(leaf: snapshot.Leaf, replicated: bool) -> bool:
    if leaf.budget is None or leaf.wanted is None:
        return leaf.budget is leaf.wanted
    return leaf.budget.gives(leaf.wanted, replicated)


def _describe(budget: base.Budget | None) -> str:
    if budget is None:
        return 'no budget'
    runtimes = set(budget.runtime_us.values())
    if len(runtimes) == 1:
        return f'{runtimes.pop()} us every {budget.period_us} us'
    return f'{dict(budget.runtime_us)} us every {budget.period_us} us'
