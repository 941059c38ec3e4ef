# SPDX-License-Identifier: Apache-2.0

"""Explains why Placement offers no host for a reservation.

If Placement offers no host, Nova calls no filter and refuses the server
without a reason.  In this case the Placement client of nova-scheduler asks
Placement for the free amounts.  Other requests send no further question to
Placement.
"""

from collections.abc import Callable, Mapping
import dataclasses
import functools
import threading
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions as ks_exceptions
import nova.conf
from nova import exception as nova_exception
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt.rules import hostmap
from nova_rt.rules import report as rt_report
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services import events
from nova_rt.services.scheduler import refusal

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)

#: Summaries of providers have all resource classes, and roots are known.
_VERSION = '1.36'
_OK = 200
_METHOD = 'get_allocation_candidates'


@dataclasses.dataclass(frozen=True, slots=True)
class _Wish:
    """A server for which this thread is about to ask Placement."""

    spec: Any
    reservation: reservation.Reservation
    vcpus: int

    @property
    def amounts(self) -> dict[str, int]:
        return hostmap.amounts(self.vcpus, self.reservation.bandwidth)


class _Pending(threading.local):
    wish: _Wish | None = None


_pending = _Pending()


def expect(spec: Any, wanted: reservation.Reservation, vcpus: int) -> None:
    """Notes the server of this thread's next question to Placement.

    :param vcpus: the number of vCPUs with the reservation
    """
    _pending.wish = _Wish(spec, wanted, vcpus)


def forget() -> None:
    """Notes that the next question concerns no reservation."""
    _pending.wish = None


def install() -> None:
    """Makes Nova's Placement client explain refusals; can be repeated."""
    client = report.SchedulerReportClient
    if not hasattr(getattr(client, _METHOD), 'nova_rt'):
        setattr(client, _METHOD, _explained(getattr(client, _METHOD)))


def _explained(ask: Callable[..., Any]) -> Any:
    @functools.wraps(ask)
    def get_allocation_candidates(client: Any, context: Any, resources: Any
                                  ) -> Any:
        answer = ask(client, context, resources)
        wish = _pending.wish
        forget()
        # (None, None, None), or None, if Placement did not answer.
        if wish is None or not answer or answer[0] is None or answer[0]:
            return answer
        if _asks_again(resources):
            _pending.wish = wish
            return answer
        _refuse(client, context, wish, resources)
        return answer

    get_allocation_candidates.nova_rt = True  # type: ignore[attr-defined]
    return get_allocation_candidates


def _asks_again(resources: Any) -> bool:
    """Checks whether Nova will ask a second time, for VCPU instead of PCPU."""
    return bool(resources.cpu_pinning_requested and not
                CONF.workarounds.disable_fallback_pcpu_query)


def _refuse(client: Any, context: Any, wish: _Wish, resources: Any) -> None:
    """Logs the free amounts for the operator, and refuses the request.

    :raises NoValidHost: always; the reason is for the tenant, and has neither
        hosts nor free amounts
    """
    able = _ask(client, context, 'resource_providers', wish.amounts,
                'resource_providers')
    cause = refusal.does_not_fit(wish.reservation, wish.vcpus)
    reason = refusal.reason(wish.spec, wish.reservation, wish.vcpus)
    if able:
        hosts = words.count(len(able), 'host has', 'hosts have')
        room = (f'room for {wish.reservation} on '
                f'{words.count(wish.vcpus, "pCPU")}')
        cause = (f'{hosts} {room}, but not for everything else that the '
                 f'server asks for')
        reason = (f'no host has {room} together with everything else that '
                  f'the flavor and the request ask for')
    free = (', '.join(f'{amount} of {name}' for name, amount
                      in resources.merged_resources().items())
            if able else _largest(client, context))
    LOG.info('Placement offers no host for a CPU reservation: %s: %s', cause,
             free, instance_uuid=wish.spec.instance_uuid)
    events.refused(events.PLACEMENT,
                   events.TOGETHER if able else rt_report.NO_ROOM,
                   f'{cause}: {free}', wish.spec.instance_uuid)
    raise nova_exception.NoValidHost(reason=reason)


def _largest(client: Any, context: Any) -> str:
    """Returns the largest free amount of each resource class, as text."""
    summaries = _ask(client, context, 'allocation_candidates',
                     {hostmap.SHARE_CLASS: 1}, 'provider_summaries',
                     limit=CONF.scheduler.max_placement_results)
    if summaries is None:
        return 'Placement did not say what is free'
    if not summaries:
        return (f'no host with the trait {hostmap.TRAIT} has any free '
                f'{hostmap.SHARE_CLASS}')
    return ', '.join(_largest_free(client, context, summaries, name)
                     for name in hostmap.CLASSES)


def _largest_free(client: Any, context: Any, summaries: Mapping[str, Any],
                  name: str) -> str:
    free = {provider: has['resources'][name]['capacity']
            - has['resources'][name]['used']
            for provider, has in summaries.items()
            if name in has['resources']}
    if not free:
        return f'no host has {name}'
    most = max(free, key=lambda provider: (free[provider], provider))
    host = _get(client, context, f'resource_providers/{most}').get(
        'name', most)
    return (f'the largest free {name} is {reservation.decimal(free[most])} '
            f'pCPUs ({host})')


def _ask(client: Any, context: Any, path: str, amounts: Mapping[str, int],
         part: str, **query: Any) -> Any:
    """Returns a part of Placement's answer; None without an answer."""
    text = parse.urlencode({
        'resources': ','.join(f'{name}:{amount}'
                              for name, amount in amounts.items()),
        'required': hostmap.TRAIT, **query})
    return _get(client, context, f'{path}?{text}').get(part)


def _get(client: Any, context: Any, path: str) -> Mapping[str, Any]:
    """Returns the answer of Placement; {} without an answer."""
    try:
        answer = client.get(f'/{path}', version=_VERSION,
                            global_request_id=context.global_id)
    except ks_exceptions.ClientException:
        return {}
    answered: Mapping[str, Any] = (
        answer.json() if answer.status_code == _OK else {})
    return answered
