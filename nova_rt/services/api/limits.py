# SPDX-License-Identifier: Apache-2.0

"""Compares a request with the unified limits of its project.

Nova counts what Placement has allocated, and adds what a flavor names.  This
module adds the servers that were admitted but are not allocated yet, and the
amounts that hints ask for.
"""

from collections.abc import Iterable
from typing import Any

from keystoneauth1 import exceptions as ks_exceptions
from nova import exception as nova_exception
from nova.limit import utils as limit_utils
from nova.scheduler.client import report
from oslo_limit import exception as limit_exception
from oslo_limit import limit

from nova_rt.services.api import pending
from nova_rt.services import events

_PREFIX = 'class:'
#: How often the allocations are read again while they change.
_TRIES = 4


def room(context: Any, project_id: str, needs: pending.Amounts, least: int,
         most: int) -> int:
    """Returns how many servers the limits of a project admit.

    The caller holds the lock of the project.

    :param needs: what one server needs, by resource class
    :param least: how many servers the request is for at least
    :param most: how many servers the request is for at most
    :raises TooManyInstances: when there is no room for *least*; the API
        answers with status 403
    """
    admitted = pending.admitted_servers(context, project_id)
    over = _over(context, project_id, needs, most, admitted, precise=False)
    if over and admitted:
        over = _over(context, project_id, needs, most, admitted, precise=True)
    fits = min((_fits(info, needs) for info in over), default=most)
    if fits < least:
        sentence = _sentence(over, needs, least)
        events.refused(events.API, events.QUOTA, sentence)
        raise nova_exception.TooManyInstances(sentence)
    return fits


def _over(context: Any, project_id: str, needs: pending.Amounts, most: int,
          admitted: list[pending.Admitted], precise: bool
          ) -> list[limit_exception.OverLimitInfo]:
    """Returns the limits that the request would exceed."""
    def usage(_project: Any, names: Iterable[str]) -> dict[str, int]:
        used = (_precise if precise else _at_most)(
            context, project_id, admitted)
        return {name: used.get(name.removeprefix(_PREFIX), 0)
                for name in names}

    try:
        limit.Enforcer(usage).enforce(project_id, {
            f'{_PREFIX}{name}': amount * most
            for name, amount in needs.items()})
    except limit_exception.ProjectOverLimit as error:
        # Each class is checked separately: a class may have no registered
        # limit.
        return [info for info in error.over_limit_info_list
                if info.limit >= 0 and limit_utils.should_enforce(
                    limit_exception.ProjectOverLimit(project_id, [info]))]
    return []


def _fits(info: limit_exception.OverLimitInfo, needs: pending.Amounts) -> int:
    return max(0, info.limit - info.current_usage) // needs[
        info.resource_name.removeprefix(_PREFIX)]


def _at_most(context: Any, project_id: str,
             admitted: Iterable[pending.Admitted]) -> dict[str, int]:
    """Returns the usage; some servers may be counted twice."""
    return _sum(_allocated(context, project_id), admitted)


def _precise(context: Any, project_id: str,
             admitted: list[pending.Admitted]) -> dict[str, int]:
    """Returns the usage; each server is counted once.

    Placement may allocate a server while the usage is read.  The sum is
    therefore used only if the same servers were without an allocation before
    and after.
    """
    before = _unallocated(context, admitted)
    for _ in range(_TRIES):
        used = _allocated(context, project_id)
        after = _unallocated(context, before)
        if after == before:
            break
        before = after
    return _sum(used, before)


def _unallocated(context: Any, admitted: Iterable[pending.Admitted]
                 ) -> list[pending.Admitted]:
    return [each for each in admitted
            if each.moves or not _has_allocation(context, each)]


def _has_allocation(context: Any, server: pending.Admitted) -> bool:
    try:
        return bool(report.report_client_singleton()
                    .get_allocations_for_consumer(context, server.uuid))
    except (nova_exception.ConsumerAllocationRetrievalFailed,
            ks_exceptions.ClientException):
        return False


def _allocated(context: Any, project_id: str) -> dict[str, int]:
    return dict(report.report_client_singleton()
                .get_usages_counts_for_limits(context, project_id))


def _sum(used: dict[str, int], admitted: Iterable[pending.Admitted]
         ) -> dict[str, int]:
    total = dict(used)
    for server in admitted:
        for name, amount in server.amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _sentence(over: Iterable[limit_exception.OverLimitInfo],
              needs: pending.Amounts, least: int) -> str:
    parts = [
        f'Quota exceeded for {info.resource_name}: the request needs '
        f'{least * needs[info.resource_name.removeprefix(_PREFIX)]}, and the '
        f'project uses {info.current_usage} of its limit of {info.limit} '
        f'(ppm of a pCPU).' for info in over]
    return ' '.join([*parts, 'Ask for less, delete servers, or ask your '
                             'operator for a higher limit.'])
