# SPDX-License-Identifier: Apache-2.0

"""What a server asks of this compute node: flavor and lasting hints.

nova-compute must not query RequestSpecs (they live in the API database), so
the hints are noted on the instance when it is built.
"""

from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils

from nova_rt.compute import claims
from nova_rt import exception
from nova_rt import reservation

#: Key of Instance.system_metadata; written once, at build.
HINTS_KEY = 'nova_rt_hint'


def note_hints(instance: Any, hints: Mapping[str, Any] | None) -> None:
    """Keep the hints about reservations with the instance.

    The instance is saved by the build that follows.

    :param hints: as a RequestSpec has them
    """
    values = {key: value
              for key, value in reservation.stored_hints(hints).items()
              if key.startswith(reservation.HINT_PREFIX)}
    if values:
        instance.system_metadata[HINTS_KEY] = jsonutils.dumps(values)


def hints_of(instance: Any) -> dict[str, Any]:
    """The hints of a server, by key.

    Its claim has them too and outlives a stale write of system_metadata.

    :raises InvalidClaim: it cannot be read
    :raises InvalidReservation: nor can the note
    """
    claim = claims.of_instance(instance)
    if claim is not None:
        return dict(claim.hints)
    text = instance.system_metadata.get(HINTS_KEY)
    try:
        return dict(jsonutils.loads(text)) if text else {}
    except (TypeError, ValueError) as error:
        raise exception.InvalidReservation(
            source='note with the server', key=HINTS_KEY, value=text,
            rule='it is not of the form that this version of nova-rt knows',
            advice='run the version that wrote it on this host') from error


def reservation_of(instance: Any, flavor: Any = None
                   ) -> reservation.Reservation | None:
    """The reservation of a server, were it to have *flavor*.

    The limits of the operator are not asked: they may have changed since
    the server was admitted.

    :param flavor: the new one in a resize; None: its own
    :raises InvalidReservation: bad values, or a conflict with another
        extra spec or image property
    """
    flavor = flavor or instance.flavor
    wanted = reservation.from_flavor_and_hints(
        flavor.extra_specs, hints_of(instance))
    if wanted is not None:
        policy = instance.image_meta.properties.get('hw_cpu_policy')
        reservation.check_conflicts(flavor.extra_specs,
                                    {'hw_cpu_policy': policy})
    return wanted
