# SPDX-License-Identifier: Apache-2.0

"""Finds the reservation of a server from its flavor and its noted hints.

nova-compute must not query RequestSpecs, which are in the API database, so
the hints are noted with the instance when it is built.
"""

from collections.abc import Mapping
from typing import Any

import nova.conf
from oslo_serialization import jsonutils

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import admission
from nova_rt.services.compute import claims
from nova_rt.services import conf as rt_conf

CONF = nova.conf.CONF

#: Key of Instance.system_metadata with the hints; written when the server is
#: built, and when an operator changes the hints.
HINTS_KEY = 'nova_rt_hint'
#: Key with the id of the flavor with which the hints do not count.
LEFT_KEY = 'nova_rt_hint_left'


def note_hints(instance: Any, hints: Mapping[str, Any] | None) -> None:
    """Notes the hints that concern reservations with the instance.

    The build that follows saves the instance.

    :param hints: as a RequestSpec has them
    """
    values = {key: value
              for key, value in reservation.stored_hints(hints).items()
              if key.startswith(reservation.HINT_PREFIX)}
    if values:
        instance.system_metadata[HINTS_KEY] = jsonutils.dumps(values)


def hints_of(instance: Any) -> dict[str, Any]:
    """Returns the hints that count for a server with its flavor, by key.

    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when the note cannot be read
    """
    return noted_hints(instance) or {}


def noted_hints(instance: Any) -> dict[str, Any] | None:
    """Returns the hints that count for a server; None if unknown.

    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when the note cannot be read
    """
    noted = read_note(instance, instance.flavor)
    if noted is not None:
        return noted
    # Another service may have overwritten the metadata with an older copy.
    # The claim has the hints, too.
    claim = claims.instance_claim(instance)
    return None if claim is None else dict(claim.hints)


def read_note(instance: Any, flavor: Any) -> dict[str, Any] | None:
    """Returns the noted hints that count with *flavor*; None without a note.

    :raises InvalidReservation: when the note cannot be read
    """
    if instance.system_metadata.get(LEFT_KEY) == str(flavor.id):
        return {}
    text = instance.system_metadata.get(HINTS_KEY)
    try:
        return dict(jsonutils.loads(text)) if text else None
    except (TypeError, ValueError) as error:
        raise exception.InvalidReservation(
            source='note with the server', key=HINTS_KEY, value=text,
            rule='this version of nova-rt does not know the form of the note',
            advice='run the version that wrote the note on this '
                   'host') from error


def is_plain(instance: Any) -> bool:
    """Checks whether a server asks for no reservation, not even a bad one."""
    try:
        return reservation_of(instance) is None
    except exception.RTError:
        return False


def hints_with(instance: Any, flavor: Any) -> dict[str, Any]:
    """Returns the hints that a server has with the flavor of a resize.

    :param flavor: None for the flavor that the server has
    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when the note cannot be read, or when a value
        of *flavor* is bad
    """
    hints = hints_of(instance)
    if not _is_resize(instance, flavor):
        return hints
    return reservation.carried_hints(
        flavor.extra_specs, hints, rt_conf.limits(CONF))


def note_left(instance: Any, flavor: Any) -> None:
    """Notes before a resize if the hints do not count with the new flavor.

    A revert of the resize makes the hints count again.  The next resize
    removes the hints.

    :param flavor: the new flavor; None if the server is not being resized
    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when the note cannot be read, or when a value
        of *flavor* is bad
    """
    if not _is_resize(instance, flavor):
        return
    noted = instance.system_metadata
    if noted.pop(LEFT_KEY, None) == str(instance.flavor.id):
        replace_hints(instance, {})
    elif hints_of(instance) and not hints_with(instance, flavor):
        noted[LEFT_KEY] = str(flavor.id)


def replace_hints(instance: Any, hints: Mapping[str, int]) -> None:
    """Notes other hints, which count from the next claim on.

    The caller saves the instance.
    """
    instance.system_metadata.pop(LEFT_KEY, None)
    instance.system_metadata[HINTS_KEY] = jsonutils.dumps(dict(hints))


def _is_resize(instance: Any, flavor: Any) -> bool:
    return flavor is not None and flavor.id != instance.flavor.id


def reservation_of(instance: Any, flavor: Any = None
                   ) -> reservation.Reservation | None:
    """Returns the reservation that a server has with *flavor*.

    The operator's limits and conflicts are not checked: they may have
    changed since the server was admitted.

    :param flavor: the new flavor of a resize; None for the flavor that the
        server has
    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when a value is bad
    """
    return reservation.from_flavor_and_hints(
        (flavor or instance.flavor).extra_specs,
        hints_with(instance, flavor))


def admitted(instance: Any, flavor: Any = None, moves: bool = False
             ) -> reservation.Reservation | None:
    """Returns the reservation for a claim, after the server was admitted.

    :param moves: whether the server exists already, on this host or on
        another; a move to another cell of Nova loses the claim
    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when a value is bad, or when a new server or
        a new flavor has a conflict
    """
    wanted = reservation_of(instance, flavor)
    if wanted is not None and (
            _is_resize(instance, flavor)
            or not (moves or admission.holds(instance))):
        admission.check(flavor or instance.flavor, instance.image_meta)
    return wanted
