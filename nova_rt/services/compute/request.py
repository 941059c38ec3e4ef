# SPDX-License-Identifier: Apache-2.0

"""What a server asks of this compute node: flavor and lasting hints.

nova-compute must not query RequestSpecs (they live in the API database), so
the hints are noted on the instance when it is built.
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

#: Key of Instance.system_metadata, written at build and by an operator.
HINTS_KEY = 'nova_rt_hint'
#: And of the id of the flavor with which the hints do not count.
LEFT_KEY = 'nova_rt_hint_left'


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
    """The hints that count for a server with the flavor it has, by key.

    :raises InvalidClaim: its claim cannot be read
    :raises InvalidReservation: nor can the note
    """
    return noted_hints(instance) or {}


def noted_hints(instance: Any) -> dict[str, Any] | None:
    """As hints_of; None where nothing says that it has none."""
    noted = of_note(instance, instance.flavor)
    if noted is not None:
        return noted
    # A stale write of the metadata may have lost the note.
    claim = claims.of_instance(instance)
    return None if claim is None else dict(claim.hints)


def of_note(instance: Any, flavor: Any) -> dict[str, Any] | None:
    """The hints of a server while it has *flavor*; None without a note.

    :raises InvalidReservation: the note cannot be read
    """
    if instance.system_metadata.get(LEFT_KEY) == str(flavor.id):
        return {}
    text = instance.system_metadata.get(HINTS_KEY)
    try:
        return dict(jsonutils.loads(text)) if text else None
    except (TypeError, ValueError) as error:
        raise exception.InvalidReservation(
            source='note with the server', key=HINTS_KEY, value=text,
            rule='it is not of the form that this version of nova-rt knows',
            advice='run the version that wrote it on this host') from error


def is_plain(instance: Any) -> bool:
    """Whether a server says nothing of a reservation, good or bad."""
    try:
        return reservation_of(instance) is None
    except exception.RTError:
        return False


def hints_with(instance: Any, flavor: Any) -> dict[str, Any]:
    """The hints that a server has with the flavor of a resize.

    :param flavor: None: its own
    :raises InvalidClaim: its claim cannot be read
    :raises InvalidReservation: nor can the note
    """
    hints = hints_of(instance)
    if not _is_resize(instance, flavor):
        return hints
    return reservation.carried_hints(
        flavor.extra_specs, hints, rt_conf.limits(CONF))


def note_left(instance: Any, flavor: Any) -> None:
    """Note, before a resize, whether its hints are left behind.

    They are while it has the new flavor: a revert brings them back.  The
    next resize forgets them.

    :param flavor: None: no resize
    :raises InvalidClaim: its claim cannot be read
    :raises InvalidReservation: nor can the note
    """
    if not _is_resize(instance, flavor):
        return
    noted = instance.system_metadata
    if noted.pop(LEFT_KEY, None) == str(instance.flavor.id):
        replace_hints(instance, {})
    elif hints_of(instance) and not hints_with(instance, flavor):
        noted[LEFT_KEY] = str(flavor.id)


def replace_hints(instance: Any, hints: Mapping[str, int]) -> None:
    """Have other hints count from the next claim on; the caller saves."""
    instance.system_metadata.pop(LEFT_KEY, None)
    instance.system_metadata[HINTS_KEY] = jsonutils.dumps(dict(hints))


def _is_resize(instance: Any, flavor: Any) -> bool:
    return flavor is not None and flavor.id != instance.flavor.id


def reservation_of(instance: Any, flavor: Any = None
                   ) -> reservation.Reservation | None:
    """The reservation of a server, were it to have *flavor*.

    The limits of the operator are not asked, nor what it is combined with:
    the rules may have changed since the server was admitted.

    :param flavor: the new one in a resize; None: its own
    :raises InvalidReservation: bad values
    """
    return reservation.from_flavor_and_hints(
        (flavor or instance.flavor).extra_specs,
        hints_with(instance, flavor))


def admitted(instance: Any, flavor: Any = None, moves: bool = False
             ) -> reservation.Reservation | None:
    """The same for a claim that is about to be made.

    :param moves: whether it exists already, on this host or another; between
        cells its claim stays behind
    :raises InvalidReservation: bad values; or a new server, or another
        flavor, that today's rules refuse
    """
    wanted = reservation_of(instance, flavor)
    if wanted is not None and (
            _is_resize(instance, flavor)
            or not (moves or admission.holds(instance))):
        admission.check(flavor or instance.flavor, instance.image_meta)
    return wanted
