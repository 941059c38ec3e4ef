# SPDX-License-Identifier: Apache-2.0

"""Changes the reservation of a server while the server runs.

Everything happens under Nova's lock, so that no other claim is made
meanwhile.  The steps and what remains if nova-compute is killed after one of
them:

1. Placement gets the larger amounts.  The old claim holds, and Placement has
   allocated too much until ``nova-rt-manage heal``.
2. The kernel gets the new reservation.  The old claim holds, and the audit at
   the next start applies the old claim again.
3. The database gets the new claim.  The new claim holds.
4. Placement gets the exact amounts.

If a step fails, the steps before it are undone.
"""

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
from typing import Any

from nova.compute import vm_states
from nova import exception as nova_exception
from nova import objects
from oslo_log import log as logging

from nova_rt.rules import change
from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import allocations
from nova_rt.services.compute import claims
from nova_rt.services.compute import lock
from nova_rt.services.compute import request
from nova_rt.services.compute import spare
from nova_rt.services import events

LOG = logging.getLogger(__name__)

#: The instance action of a change, for ``openstack server event list``.
ACTION = 'rt_change_reservation'


@lock.synchronized
def change_here(rt: Any, context: Any, instance: Any,
                hints: Mapping[str, int]) -> None:
    """Gives a server of this host the reservation of other hints.

    :param rt: the tracker of this host
    :param instance: as it is stored, with flavor, resources and
        system_metadata
    :param hints: values by key, which replace the hints of the server
    :raises ComputeResourcesUnavailable: when the reservation does not fit
    :raises Invalid: when the server cannot be changed, or when Nova is
        working on the server
    """
    old = sole_claim(rt, instance)
    new = _wanted(rt, instance, old, hints)
    request.replace_hints(instance, new.hints)
    exchange(rt, context, instance, old, new)


def exchange(rt: Any, context: Any, instance: Any, old: claims.RTClaim,
             new: claims.RTClaim) -> None:
    """Gives a server of this host another claim, in the four steps above.

    The caller has Nova's lock, and has checked that *new* fits.

    :param instance: as for change_here; this function saves the instance
    :raises Invalid: when the kernel refuses, or when Nova is working on the
        server; nothing is changed then
    """
    with contextlib.ExitStack() as undo:
        _allocate(rt, context, old, new, undo)
        undo.callback(_put_back, rt, old)
        spare.make_room(rt, [new])
        _apply(rt, new)
        _store(instance, old, new)
        undo.pop_all()
    rt.rt_replace(old, new)
    spare.level(rt)
    LOG.info('Changed the CPU reservation from %s on %s to %s on %s.',
             old.reservation, words.ids(old.cpus), new.reservation,
             words.ids(new.cpus), instance=instance)
    events.changed(old, new)
    with _later('Placement', instance):
        _set_amounts(rt, context, new.instance_uuid, _amounts(new))
    with _later('the map of this host', instance):
        rt._update(context, rt.compute_nodes[instance.node])


def sole_claim(rt: Any, instance: Any) -> claims.RTClaim:
    """Returns the only claim of a server here.

    :raises Invalid: when the server has none, or is being resized
    """
    known = rt.rt_server_claims(instance.uuid) or []
    if len(known) > 1 or instance.vm_state == vm_states.RESIZED:
        raise _invalid('confirm or revert the resize of the server first')
    try:
        stored = claims.instance_claim(instance)
    except exception.InvalidClaim as error:
        raise _invalid(exception.clause(error)) from None
    if stored is None or known != [stored]:
        raise _invalid('the server holds no CPU reservation on this host; '
                       'resize it to a flavor with a reservation')
    return stored


def _wanted(rt: Any, instance: Any, old: claims.RTClaim,
            hints: Mapping[str, int]) -> claims.RTClaim:
    """Returns the new claim; the server and its host stay as they are."""
    try:
        wanted = reservation.from_flavor_and_hints(
            instance.flavor.extra_specs, dict(hints))
        if wanted is None:
            raise _invalid('the server would have no reservation; resize it '
                           'to a flavor without one')
        state = rt.rt_state()
        cpus = change.fit(state, old.cpus, old.in_kernel, wanted,
                          rt.rt_policy.choose,
                          rt.driver.rt_stays(instance))
    except exception.RTError as error:
        raise _invalid(exception.clause(error)) from None
    if cpus is None:
        raise nova_exception.ComputeResourcesUnavailable(
            reason=rt.driver.rt_capacity.refusal(
                state, len(old.cpus), wanted))
    return dataclasses.replace(
        old, reservation=wanted, cpus=cpus, hints=dict(hints),
        divisor=rt_cpus.divisor(change.without(
            state, old.cpus, old.in_kernel), cpus, wanted))


def _amounts(*server_claims: claims.RTClaim) -> dict[str, int]:
    """Returns what Placement needs for the largest of some claims."""
    return hostmap.amounts(len(server_claims[0].cpus), max(
        claim.reservation.bandwidth for claim in server_claims))


def _allocate(rt: Any, context: Any, old: claims.RTClaim,
              new: claims.RTClaim, undo: contextlib.ExitStack) -> None:
    """Allocates the larger of two claims in Placement."""
    if new.reservation.bandwidth > old.reservation.bandwidth:
        _set_amounts(rt, context, old.instance_uuid, _amounts(old, new))
        undo.callback(_set_amounts, rt, context, old.instance_uuid,
                      _amounts(old))


def _set_amounts(rt: Any, context: Any, uuid: str,
                 amounts: Mapping[str, int]) -> None:
    for provider in rt.rt_providers():
        allocations.set_amounts(rt.reportclient, context, uuid, provider,
                                amounts)


def _apply(rt: Any, new: claims.RTClaim) -> None:
    try:
        rt.driver.rt_apply(new)
    except exception.RTError as error:
        raise _invalid(exception.clause(error)) from error


def _put_back(rt: Any, old: claims.RTClaim) -> None:
    try:
        rt.driver.rt_apply(old)
    except exception.RTError as error:
        LOG.error('Server %s keeps another reservation than its claim until '
                  'the next audit: %s', old.instance_uuid, str(error))


def _store(instance: Any, old: claims.RTClaim, new: claims.RTClaim) -> None:
    """Stores the new claim, unless Nova has begun to work."""
    instance.resources = objects.ResourceList(objects=[
        new.to_resource(each.provider_uuid)
        if each.identifier == old.identifier else each
        for each in instance.resources])
    try:
        instance.save(expected_task_state=[None])
    except nova_exception.UnexpectedTaskStateError:
        raise _invalid('Nova is working on the server') from None


@contextlib.contextmanager
def _later(subject: str, instance: Any) -> Iterator[None]:
    """Logs an error of a step that an audit or the operator repeats."""
    try:
        yield
    except Exception as error:
        LOG.warning('%s does not have the new CPU reservation yet (run '
                    'nova-rt-manage check): %s', subject, str(error),
                    instance=instance)


def _invalid(reason: str) -> nova_exception.Invalid:
    return nova_exception.Invalid(reason)
