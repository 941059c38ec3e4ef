# SPDX-License-Identifier: Apache-2.0

"""Placement: what is read of it, and the one way to change it."""

from collections.abc import Callable, Mapping
import random
import time
from typing import Any

from nova import exception as nova_exception
from nova.scheduler.client import report

from nova_rt.rules import exception
from nova_rt.rules import hostmap

_ATTEMPTS = 5
_CONFLICT = 'placement.concurrent_update'
#: With consumer generations; of the classes any that has custom ones.
_VERSION = report.CONSUMER_GENERATION_VERSION
_NOT_FOUND = 404


class PlacementError(exception.RTError):
    """Placement did not answer, or refused.

    Arguments: what (was asked for) and reason.
    """

    msg_fmt = 'Placement: %(what)s: %(reason)s'


class Placement:
    """The Placement that the configuration of Nova names.

    :raises keystoneauth1.exceptions.ClientException: of all methods, where
        Placement or Keystone cannot be reached
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._client = report.report_client_singleton()

    def allocations(self, provider: str) -> dict[str, dict[str, int]] | None:
        """Amounts by consumer and class; None for no such provider."""
        answer = self._get(f'/resource_providers/{provider}/allocations')
        if answer is None:
            return None
        return {consumer: dict(each['resources']) for consumer, each
                in answer['allocations'].items()}

    def inventories(self, provider: str) -> dict[str, dict[str, Any]]:
        """Returns those of our classes; none where there is no provider."""
        answer = self._get(f'/resource_providers/{provider}/inventories')
        found = answer['inventories'] if answer else {}
        return {name: found[name] for name in hostmap.CLASSES
                if name in found}

    def has_class(self, name: str) -> bool:
        return self._get(f'/resource_classes/{name}') is not None

    def set_amounts(self, consumer: str, provider: str,
                    amounts: Mapping[str, int],
                    still: Callable[[], bool]) -> bool:
        """Give a consumer just *amounts* of these classes at a provider.

        What it holds of others, and elsewhere, is left alone; a consumer
        that holds nothing then is no more.

        :param still: whether that is wanted; asked between reading and
            writing, so that what Nova changes meanwhile is a conflict, after
            which both are done again
        :returns: False where it was not wanted any more
        :raises PlacementError: refused, or conflicts without end
        """
        for attempt in range(_ATTEMPTS):
            time.sleep(random.uniform(0, attempt))  # noqa: S311
            current = self._client.get_allocs_for_consumer(
                self._context, consumer)
            if not still():
                return False
            if self._put(consumer, _changed(current, provider, amounts)):
                return True
        raise PlacementError(
            what=f'the allocation of {consumer}',
            reason='it is changed by others all the time; try again')

    def _put(self, consumer: str, payload: Mapping[str, Any]) -> bool:
        """:returns: False for a conflict"""
        answer = self._client.put(
            f'/allocations/{consumer}', payload, version=_VERSION,
            global_request_id=self._context.global_id)
        if answer:
            return True
        error = _error(answer)
        if error.get('code') == _CONFLICT:
            return False
        raise PlacementError(what=f'the allocation of {consumer}',
                             reason=_reason(answer))

    def _get(self, url: str) -> Any:
        """None where it is not found."""
        answer = self._client.get(url, version=_VERSION)
        if answer:
            return answer.json()
        if answer.status_code == _NOT_FOUND:
            return None
        raise PlacementError(what=url, reason=_reason(answer))


def _changed(current: Mapping[str, Any], provider: str,
             amounts: Mapping[str, int]) -> dict[str, Any]:
    """The payload that gives *amounts*.

    :raises PlacementError: the consumer holds nothing at the provider
    """
    allocations = {
        uuid: {'resources': dict(each['resources'])}
        for uuid, each in current['allocations'].items()}
    if provider not in allocations:
        raise PlacementError(
            what=f'the provider {provider}',
            reason='the consumer holds nothing there any more')
    held = {name: amount for name, amount
            in (allocations[provider]['resources'] | dict(amounts)).items()
            if amount}
    if held:
        allocations[provider] = {'resources': held}
    else:
        del allocations[provider]
    return {**current, 'allocations': allocations}


def _error(answer: Any) -> dict[str, Any]:
    try:
        return dict(answer.json()['errors'][0])
    except (ValueError, LookupError, TypeError):
        return {}


def _reason(answer: Any) -> str:
    text = _error(answer).get('detail') or answer.text or 'no reason given'
    return f'{" ".join(str(text).split())} (HTTP {answer.status_code})'


#: What Nova's client raises itself.
ERRORS = (PlacementError,
          nova_exception.ConsumerAllocationRetrievalFailed)
