# SPDX-License-Identifier: Apache-2.0

"""Repairs allocations in Placement; claims and kernel are never touched."""

from collections.abc import Iterable

from nova_rt import hostmap
from nova_rt.manage import compare
from nova_rt.manage import load
from nova_rt.manage import model


def apply(difference: model.Difference, view: load.Loader) -> bool:
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
                   for each in compare.compare(host))

    return view.placement.set_amounts(
        repair.consumer, repair.provider, dict(repair.amounts), still)


def describe(repair: model.Repair) -> str:
    """What is done, without who does it."""
    kept = [f'{amount} of {name}' for name, amount in repair.amounts
            if amount]
    if kept:
        return f'set the allocation of {repair.consumer} to ' + (
            ' and '.join(kept))
    return (f'take {" and ".join(hostmap.CLASSES)} from the allocation of '
            f'{repair.consumer}')


def of(differences: Iterable[model.Difference], consumer: str | None
       ) -> list[model.Difference]:
    """Those that concern Placement, and one server if any is named."""
    return [each for each in differences
            if each.kind.startswith('allocation.')
            or each.kind.startswith('claim.')
            if consumer in (None, each.server)
            or (each.repair and each.repair.consumer == consumer)]
