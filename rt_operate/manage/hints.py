# SPDX-License-Identifier: Apache-2.0

"""Changes the hints of a server for its next claim.

The hints are stored twice: with the server, where nova-compute reads them,
and in its RequestSpec, which tells the scheduler that the server has hints.
"""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from nova.compute import vm_states
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import admission
from nova_rt.services.compute import claims
from nova_rt.services.compute import request
from nova_rt.services import servers


def server(uuid: str) -> Any:
    """Returns the Instance with this UUID.

    :raises CannotChangeHints: when there is no such server
    """
    instance = servers.find(nova_context.get_admin_context(), uuid)
    if instance is None:
        raise exception.CannotChangeHints(
            uuid=uuid, reason='there is no such server')
    return instance


def change(instance: Any, hints: Mapping[str, Any]) -> None:
    """Replaces all hints about reservations.

    :param hints: the values by key; an empty mapping removes all hints
    :raises InvalidReservation: when the hints are not valid with the flavor
        or the image of the server
    :raises CannotChangeHints: when the server could no longer be started with
        these hints, or when Nova is working on the server
    """
    values = {key: value.number
              for key, value in reservation.hint_values(hints).items()}
    if reservation.from_flavor_and_hints(
            instance.flavor.extra_specs, values) is not None:
        _check_claim(instance)
        if not admission.holds(instance):
            admission.check(instance.flavor, instance.image_meta)
    if instance.vm_state == vm_states.RESIZED:
        raise _refused(instance, 'confirm or revert its resize first')
    request.replace_hints(instance, values)
    try:
        # The database compares the task state, because no claim may be
        # under way.
        instance.save(expected_task_state=[None])
    except nova_exception.UnexpectedTaskStateError:
        raise _refused(instance, 'Nova is working on the server') from None
    store(instance, values)


def _check_claim(instance: Any) -> None:
    """Checks that the server holds the claim that it needs to start."""
    if (instance.vm_state != vm_states.SHELVED_OFFLOADED
            and claims.instance_claim(instance) is None):
        raise _refused(instance, 'the server has no reservation now; resize '
                       'it to a flavor with a reservation, or shelve it '
                       'first')


def _refused(instance: Any, reason: str) -> exception.CannotChangeHints:
    return exception.CannotChangeHints(uuid=instance.uuid, reason=reason)


def store(instance: Any, values: Mapping[str, int]) -> None:
    """Replaces the hints in the RequestSpec, which the schedulers read."""
    spec = objects.RequestSpec.get_by_instance_uuid(
        nova_context.get_admin_context(), instance.uuid)
    spec.scheduler_hints = {
        key: value for key, value in (spec.scheduler_hints or {}).items()
        if not key.startswith(reservation.HINT_PREFIX)
    } | {key: [str(number)] for key, number in values.items()}
    spec.save()


def sentence(instance: Any) -> str:
    """Returns a sentence about the present and the next reservation.

    :raises InvalidClaim: when its claim cannot be read
    :raises InvalidReservation: when the hints that are stored with it cannot
        be read, or are not valid with its flavor
    """
    hints, present, wanted = _state(instance)
    pairs = ', '.join(f'{key}={value}'
                      for key, value in sorted(hints.items()))
    return (f'Server {instance.uuid}: hints: {pairs or "none"}; holds: '
            f'{present or "nothing"}; at its next resize, migration or '
            f'unshelve with this flavor: {wanted or "nothing"}.')


def as_json(instance: Any) -> str:
    """Returns the content of ``sentence`` as JSON, for programs.

    :raises InvalidClaim: when its claim cannot be read
    :raises InvalidReservation: when the hints that are stored with it cannot
        be read, or are not valid with its flavor
    """
    hints, present, wanted = _state(instance)
    return json.dumps({
        'server': instance.uuid,
        'hints': {key: value.number for key, value in
                  reservation.hint_values(hints).items()},
        'holds': present and dataclasses.asdict(present),
        'next': wanted and dataclasses.asdict(wanted)}, indent=2)


def _state(instance: Any) -> tuple[
        Mapping[str, Any], reservation.Reservation | None,
        reservation.Reservation | None]:
    """Returns the hints, what the server holds, and what it will get."""
    claim = claims.instance_claim(instance)
    hints = request.hints_of(instance)
    wanted = reservation.from_flavor_and_hints(
        instance.flavor.extra_specs, hints)
    return hints, claim.reservation if claim else None, wanted
