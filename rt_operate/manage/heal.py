# SPDX-License-Identifier: Apache-2.0

"""Repairs allocations in Placement and removes notes of quotas.

Claims and the kernel are never changed.
"""

from collections.abc import Iterable

from nova import context as nova_context

from nova_rt.rules import hostmap
from nova_rt.services.api import pending
from rt_operate.manage.compare import differences
from rt_operate.manage.read import load
from rt_operate.manage import snapshot


def apply(difference: snapshot.Difference, view: load.Loader) -> bool:
    """Repairs one difference, if it still exists at the time of the write.

    :param view: a loader whose scope has the host of the difference
    :returns: whether something was changed
    :raises PlacementError: when Placement refuses
    """
    repair = difference.repair
    if repair is None:
        return False
    if isinstance(repair, snapshot.Removal):
        return pending.remove(nova_context.get_admin_context(),
                              repair.row, repair.since)

    def still() -> bool:
        return any(current.repair == repair for host in view.view().hosts
                   for current in differences.compare(host))

    return view.placement.set_amounts(
        repair.consumer, repair.provider, dict(repair.amounts), still)


def describe(repair: snapshot.Repair | snapshot.Removal) -> str:
    """Describes the repair in a clause that begins with an infinitive."""
    if isinstance(repair, snapshot.Removal):
        return f'remove the note of server {repair.consumer}'
    kept = [f'{amount} of {name}' for name, amount in repair.amounts
            if amount]
    if kept:
        return f'set the allocation of {repair.consumer} to ' + (
            ' and '.join(kept))
    return (f'remove {" and ".join(hostmap.CLASSES)} from the allocation of '
            f'{repair.consumer}')


def concerning(all_differences: Iterable[snapshot.Difference],
               consumer: str | None) -> list[snapshot.Difference]:
    """Returns the differences that concern Placement or quotas.

    :param consumer: only differences of this consumer; None for all
    """
    chosen = [difference for difference in all_differences
              if difference.kind.startswith(
                  ('allocation.', 'claim.', 'quota.'))]
    if consumer is None:
        return chosen
    return [difference for difference in chosen
            if difference.server == consumer
            or (difference.repair
                and difference.repair.consumer == consumer)]
