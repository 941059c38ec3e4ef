# SPDX-License-Identifier: Apache-2.0

"""Reads Placement, and has the only function that changes it."""

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
#: This microversion has consumer generations.  For the classes alone, any
#: microversion with custom resource classes would be enough.
_VERSION = report.CONSUMER_GENERATION_VERSION
_NOT_FOUND = 404


class PlacementError(exception.RTError):
    """Placement did not answer, or refused.

    The arguments are *what*, the subject of the request, and *reason*.
    """

    msg_fmt = 'Placement: %(what)s: %(reason)s'


class Placement:
    """The Placement that the configuration of Nova names.

    :raises keystoneauth1.exceptions.ClientException: in all methods, when
        Placement or Keystone cannot be reached
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._client = report.report_client_singleton()

    def allocations(self, provider: str) -> dict[str, dict[str, int]] | None:
        """Returns amounts by consumer and class; None if it has none."""
        answer = self._get(f'/resource_providers/{provider}/allocations')
        if answer is None:
            return None
        return {consumer: dict(allocation['resources'])
                for consumer, allocation in answer['allocations'].items()}

    def inventories(self, provider: str) -> dict[str, dict[str, Any]]:
        """Returns inventories of our classes; {} if there is no provider."""
        answer = self._get(f'/resource_providers/{provider}/inventories')
        inventories = answer['inventories'] if answer else {}
        return {name: inventories[name] for name in hostmap.CLASSES
                if name in inventories}

    def has_class(self, name: str) -> bool:
        """Tells whether Placement has a resource class."""
        return self._get(f'/resource_classes/{name}') is not None

    def set_amounts(self, consumer: str, provider: str,
                    amounts: Mapping[str, int],
                    still: Callable[[], bool]) -> bool:
        """Gives a consumer exactly *amounts* of these classes at a provider.

        Other classes and other providers of the consumer are left alone.  A
        consumer that then holds nothing is removed.

        :param still: tells whether the change is still wanted.  The function
            is called between reading and writing.  If Nova changes the
            allocation meanwhile, Placement reports a conflict, and the method
            reads and writes again.
        :returns: False if the change was no longer wanted
        :raises PlacementError: when Placement refuses, or when conflicts do
            not end
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
            reason='other clients keep changing the allocation; try again')

    def _put(self, consumer: str, payload: Mapping[str, Any]) -> bool:
        """Writes an allocation.

        :returns: False if there was a conflict
        :raises PlacementError: when Placement refuses
        """
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
        """Returns the answer of Placement; None if nothing is found.

        :raises PlacementError: when Placement refuses
        """
        answer = self._client.get(url, version=_VERSION)
        if answer:
            return answer.json()
        if answer.status_code == _NOT_FOUND:
            return None
        raise PlacementError(what=url, reason=_reason(answer))


def _changed(current: Mapping[str, Any], provider: str,
             amounts: Mapping[str, int]) -> dict[str, Any]:
    """Returns the payload of a request that gives a consumer *amounts*.

    :raises PlacementError: when the consumer holds nothing at the provider
    """
    allocations = {
        uuid: {'resources': dict(allocation['resources'])}
        for uuid, allocation in current['allocations'].items()}
    if provider not in allocations:
        raise PlacementError(
            what=f'the provider {provider}',
            reason='the consumer no longer holds an allocation at this '
                   'provider')
    resources = allocations[provider]['resources'] | dict(amounts)
    resources = {name: amount for name, amount in resources.items()
                 if amount}
    if resources:
        allocations[provider] = {'resources': resources}
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


#: The errors of this module and of Nova's client.
ERRORS = (PlacementError,
          nova_exception.ConsumerAllocationRetrievalFailed)
