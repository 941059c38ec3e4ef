# SPDX-License-Identifier: Apache-2.0

"""Makes nova-api count reservations against unified limits.

Nova has no extension point where a request has passed its checks and is not
admitted yet, so :func:`install` wraps methods of Nova's ``compute.API``.
Without unified limits, the wrappers only call the methods.
"""

from collections.abc import Callable
import contextlib
import functools
import inspect
from typing import Any

from nova.compute import api as compute_api
from nova.compute import vm_states
from nova.limit import utils as limit_utils
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.api import limits
from nova_rt.services.api import pending
from nova_rt.services.compute import request
from nova_rt.services.compute import vcpus

_Method = Callable[..., Any]


def install() -> None:
    """Wraps the methods; may be called repeatedly."""
    for name, wrap in (('_provision_instances', _creating),
                       ('resize', _resizing), ('unshelve', _unshelving)):
        method = getattr(compute_api.API, name)
        if not hasattr(method, 'nova_rt'):
            wrapped = wrap(method)
            wrapped.nova_rt = True  # type: ignore[attr-defined]
            setattr(compute_api.API, name, wrapped)


def _creating(method: _Method) -> _Method:
    signature = inspect.signature(method)

    @functools.wraps(method)
    def provision(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs)
        given = call.arguments
        needs = (_new_server_amounts(given)
                 if limit_utils.use_unified_limits() else {})
        if not needs:
            return method(*args, **kwargs)
        context = given['context']
        # Nova writes the servers to the API database before this block ends.
        with pending.locked(context, context.project_id):
            given['max_count'] = limits.room(
                context, context.project_id, needs, given['min_count'],
                given['max_count'])
            return method(*call.args, **call.kwargs)

    return provision


def _new_server_amounts(given: dict[str, Any]) -> pending.Amounts:
    """Returns the amounts that one server of a create request takes."""
    try:
        return pending.amounts(
            given['flavor'], given['filter_properties'].get(
                'scheduler_hints'), given['base_options'].get(
                    'numa_topology'))
    except exception.InvalidReservation:
        return {}  # The scheduler refuses the server.


def _resizing(method: _Method) -> _Method:
    @functools.wraps(method)
    def resize(api: Any, context: Any, instance: Any, flavor_id: Any = None,
               *args: Any, **kwargs: Any) -> Any:
        flavor = flavor_id and objects.Flavor.get_by_flavor_id(
            context, flavor_id, read_deleted='no')
        with _counted(context, instance, flavor):
            return method(api, context, instance, flavor_id, *args, **kwargs)

    return resize


def _unshelving(method: _Method) -> _Method:
    @functools.wraps(method)
    def unshelve(api: Any, context: Any, instance: Any, *args: Any,
                 **kwargs: Any) -> Any:
        # A shelved server keeps what it has until it is offloaded.
        flavor = (instance.flavor if instance.vm_state
                  == vm_states.SHELVED_OFFLOADED else None)
        with _counted(context, instance, flavor):
            return method(api, context, instance, *args, **kwargs)

    return unshelve


@contextlib.contextmanager
def _counted(context: Any, instance: Any, flavor: Any) -> Any:
    """Admits a server that gets more, and counts it until it is scheduled.

    :param flavor: None if the server gets nothing
    :raises TooManyInstances: when a limit refuses the server
    """
    needs = (_moved_server_amounts(instance, flavor)
             if flavor and limit_utils.use_unified_limits() else {})
    if not needs:
        yield
        return
    project = instance.project_id
    with pending.locked(context, project):
        limits.room(context, project, needs, 1, 1)
        pending.note_move(context, project, instance.uuid, needs)
    with pending.moving(context, project, instance.uuid, needs):
        yield


def _moved_server_amounts(instance: Any, flavor: Any) -> pending.Amounts:
    try:
        wanted = request.reservation_of(instance, flavor)
        return {} if wanted is None else hostmap.amounts(
            vcpus.split(flavor).reserved, wanted.bandwidth)
    except exception.RTError:
        return {}  # The scheduler or nova-compute refuses the server.
