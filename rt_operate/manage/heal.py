# SPDX-License-Identifier: Apache-2.0

"""Repairs allocations in Placement; claims and kernel are never touched."""

from collections.abc import Iterable

from nova_rt.rules import hostmap
from rt_operate.manage.compare import differences
from rt_operate.manage.read import load
from rt_operate.manage import snapshot


def apply(difference: snapshot.Difference, view: load.Loader) -> bool:
    """Repair one difference, if it is still there when we write.

    :param view: of a scope with the host of the difference
    :returns: whether something was changed
    :raises PlacementError: refused
    """
    repair = difference.repair
    if repair is None:
        return False

    def still() -> bool:
        return any(each.repair == repair for host in view.view().hosts
                   for each in differences.compare(host))

    return view.placement.set_amounts(
        repair.consumer, repair.provider, dict(repair.amounts), still)


def describe(repair: snapshot.Repair) -> str:
    """What is done, without who does it."""
    kept = [f'{amount} of {name}' for name, amount in repair.amounts
            if amount]
    if kept:
        return f'set the allocation of {repair.consumer} to ' + (
            ' and '.join(kept))
    return (f'take {" and ".join(hostmap.CLASSES)} from the allocation of '
            f'{repair.consumer}')


def concerning(found: Iterable[snapshot.Difference], consumer: str | None
               ) -> list[snapshot.Difference]:
    """Those that concern Placement, and one consumer if any is named."""
    ours = [each for each in found
            if each.kind.startswith(('allocation.', 'claim.'))]
    if consumer is None:
        return ours
    return [each for each in ours
            if each.server == consumer
            or (each.repair and each.repair.consumer == consumer)]
