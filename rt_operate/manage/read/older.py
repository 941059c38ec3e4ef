# SPDX-License-Identifier: Apache-2.0

"""Finds servers that today's stricter rules would not admit."""

from collections.abc import Iterator
from typing import Any

import nova.conf
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import admission
from nova_rt.services.compute import request
from nova_rt.services import conf as rt_conf
from rt_operate.manage.read import cells

CONF = nova.conf.CONF


def servers() -> Iterator[tuple[str, str]]:
    """Yields (UUID, reason) for servers whose claim would be refused today.

    Servers that are shelved and offloaded are also checked.
    """
    for context in cells.contexts():
        for instance in objects.InstanceList.get_by_filters(
                context, {'deleted': False}, expected_attrs=[
                    'flavor', 'resources', 'system_metadata']):
            reason = _refusal(instance) if admission.holds(instance) else ''
            if reason:
                yield str(instance.uuid), reason


def _refusal(instance: Any) -> str:
    """Returns why a new server like this one is refused; '' if admitted."""
    try:
        if reservation.from_flavor_and_hints(
                instance.flavor.extra_specs, request.hints_of(instance),
                rt_conf.limits(CONF)) is not None:
            admission.check(instance.flavor, instance.image_meta)
    except exception.InvalidClaim:
        pass  # an unreadable claim is a finding of its own
    except exception.InvalidReservation as error:
        return exception.clause(error)
    return ''
