# SPDX-License-Identifier: Apache-2.0

"""Changes the reservation of a server while the server runs.

The nova-compute of the server's host does the work, under Nova's own lock.
This process only asks nova-compute for the change, and then stores the hints
where the schedulers read them.
"""

from collections.abc import Mapping
from typing import Any

from nova import context as nova_context
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import request
from rt_operate.manage import hints as rt_hints
from rt_operate.manage import remote


def change(instance: Any, wanted: Mapping[str, int]) -> None:
    """Changes some values of a server's reservation, and keeps the others.

    :param wanted: microseconds by key, as the hints have them
    :raises CannotChangeReservation: when the reservation is not changed
    """
    if not instance.host:
        raise _refused(instance, 'the server is on no host')
    hints = new_hints(instance, wanted)
    _ask(instance, hints)
    rt_hints.store(instance, hints)
    instance.refresh()


def new_hints(instance: Any, wanted: Mapping[str, int]) -> dict[str, int]:
    """Returns the hints that give a server the wanted values.

    A value that the flavor gives needs no hint.

    :raises InvalidClaim: when the claim of the server cannot be read
    :raises InvalidReservation: when the noted hints cannot be read
    """
    current = {key: value.number for key, value in
               reservation.hint_values(request.hints_of(instance)).items()}
    flavor = instance.flavor.extra_specs
    return {key: value for key, value in (current | dict(wanted)).items()
            if flavor.get(f'hw:{key}') != str(value)}


def _ask(instance: Any, hints: Mapping[str, int]) -> None:
    """Lets nova-compute change the reservation.

    :raises CannotChangeReservation: when nova-compute refuses or does not
        answer
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(
        nova_context.get_admin_context(), instance.uuid)
    try:
        remote.call(
            instance.host, mapping.cell_mapping, 'rt_change_reservation',
            'cannot change a reservation; resize the server instead',
            uuid=instance.uuid, hints=dict(hints))
    except remote.NoAnswer as error:
        raise _refused(instance, f'{error}; run nova-rt-manage hint to see '
                       'what the server holds') from None
    except remote.Refused as error:
        raise _refused(instance, str(error)) from None


def _refused(instance: Any, reason: str
             ) -> exception.CannotChangeReservation:
    return exception.CannotChangeReservation(uuid=instance.uuid,
                                             reason=reason)
