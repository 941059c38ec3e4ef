# SPDX-License-Identifier: Apache-2.0

"""Counts admitted amounts of a project that Placement does not know yet.

A server is known to Placement when nova-scheduler has claimed its resources.
Until then, the server is a row of the API database without a cell.  A resize
or unshelve has no such row, so this module adds a note to Nova's table of
quotas, under a name that no project has.
"""

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
import datetime
from typing import Any

from nova.compute import task_states
from nova import context as nova_context
from nova.db.api import api as api_db
from nova.db.api import models
from nova import exception as nova_exception
from nova import objects
from oslo_concurrency import lockutils
from oslo_db import exception as db_exception
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import vcpus
from nova_rt.services import servers

#: No request of nova-api takes longer: the longest of its calls ends after
#: the default of [DEFAULT] long_rpc_timeout.
AGE = datetime.timedelta(minutes=30)

_LOCK = 'lock'
_MOVE = 'move'
#: The API has not passed the request on yet.
_BEGINS = 'begins'
_OWNER = 'nova_rt:'
_WAITING = frozenset((task_states.RESIZE_PREP, task_states.UNSHELVING))

Amounts = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Admitted:
    """A server for which Placement may not have allocated anything.

    :ivar uuid: the uuid of the server, which is the consumer in Placement
    :ivar amounts: the admitted amounts by resource class
    :ivar moves: whether the server exists already; its allocation then says
        nothing about the amounts
    """

    uuid: str
    amounts: Amounts
    moves: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """A note of a resize or unshelve that nova-api has not passed on.

    :ivar number: the number of the row; SQLite uses the number of a removed
        row again
    :ivar uuid: the uuid of the server
    :ivar since: when nova-api began, in UTC without a time zone
    """

    number: int
    project_id: str
    uuid: str
    amounts: Amounts
    since: datetime.datetime


def amounts(flavor: Any, hints: Mapping[str, Any] | None, topology: Any = None
            ) -> dict[str, int]:
    """Returns a server's amount of each resource class; {} for nothing.

    :param hints: as in the body of a request, or as a RequestSpec has them
    :raises InvalidReservation: when the flavor and the hints make no sense
    """
    wanted = reservation.from_flavor_and_hints(
        flavor.extra_specs, reservation.stored_hints(hints))
    return {} if wanted is None else hostmap.amounts(
        vcpus.split(flavor, topology).reserved, wanted.bandwidth)


@contextlib.contextmanager
def locked(context: Any, project_id: str) -> Iterator[None]:
    """Lets one request of a project at a time count and be admitted.

    The lock is a row that each request writes, so that the lock holds for all
    processes of nova-api, and also where several nodes of a database are
    written to.  What the block writes to the API database with *context* is
    in the same transaction.
    """
    # One connection to the database waits for each project, not hundreds.
    with lockutils.lock(f'nova_rt_quota_{project_id}', fair=True):
        _make_row(project_id)
        with api_db.context_manager.writer.using(context) as session:
            session.execute(sa.update(models.Quota).where(
                models.Quota.project_id == _owner(project_id),
                models.Quota.resource == _LOCK).values(
                    hard_limit=1 - models.Quota.hard_limit))
            yield


def admitted_servers(context: Any, project_id: str) -> list[Admitted]:
    """Returns the servers of a project that Placement may not know yet."""
    return [*_creates(context, project_id), *_moves(context, project_id)]


@contextlib.contextmanager
def moving(context: Any, project_id: str, uuid: str, needs: Amounts
           ) -> Iterator[None]:
    """Counts a server that is resized or unshelved, until it is scheduled.

    The caller has counted the server, and holds the lock only while the block
    begins.
    """
    name = f'{_MOVE}:{uuid}'
    try:
        yield
    except BaseException:
        forget(context, project_id, uuid)
        raise
    with api_db.context_manager.writer.using(_own(context)) as session:
        session.execute(sa.update(models.Quota).where(
            models.Quota.project_id == _owner(project_id),
            models.Quota.resource.like(f'{name}:%:{_BEGINS}')).values(
                resource=f'{name}:{_count(needs)}'))


def note_move(context: Any, project_id: str, uuid: str, needs: Amounts
              ) -> None:
    """Notes a server that is about to be resized or unshelved."""
    forget(context, project_id, uuid)
    with api_db.context_manager.writer.using(context) as session:
        session.add(models.Quota(
            project_id=_owner(project_id),
            resource=f'{_MOVE}:{uuid}:{_count(needs)}:{_BEGINS}',
            hard_limit=needs[hostmap.SHARE_CLASS]))


def forget(context: Any, project_id: str, uuid: str) -> None:
    """Removes the note of a server."""
    with api_db.context_manager.writer.using(context) as session:
        session.execute(sa.delete(models.Quota).where(
            models.Quota.project_id == _owner(project_id),
            models.Quota.resource.like(f'{_MOVE}:{uuid}:%')))


def begun(context: Any, before: datetime.datetime) -> list[Begun]:
    """Returns the notes that nova-api made and has not finished.

    nova-api finishes each note, unless its process is killed.

    :param before: only older notes, in UTC without a time zone
    """
    with api_db.context_manager.reader.using(context) as session:
        rows = session.query(models.Quota).filter(
            models.Quota.project_id.like(f'{_OWNER}%'),
            models.Quota.resource.like(f'{_MOVE}:%:{_BEGINS}'),
            models.Quota.created_at < before).order_by(models.Quota.id).all()
        return [_begun(row) for row in rows]


def _begun(row: Any) -> Begun:
    _move, uuid, count, _begins = row.resource.split(':')
    return Begun(row.id, row.project_id.removeprefix(_OWNER), uuid,
                 hostmap.amounts(int(count), row.hard_limit), row.created_at)


def remove(context: Any, number: int, since: datetime.datetime) -> bool:
    """Removes a note that nova-api has not finished.

    :param number: the number of the row
    :param since: when nova-api began
    :returns: whether the note was still there and not finished
    """
    with api_db.context_manager.writer.using(context) as session:
        return bool(session.execute(sa.delete(models.Quota).where(
            models.Quota.id == number, models.Quota.created_at == since,
            models.Quota.resource.like(f'{_MOVE}:%:{_BEGINS}'))).rowcount)


def _owner(project_id: str) -> str:
    """Returns the name under which no project has quotas."""
    return f'{_OWNER}{project_id}'


def _count(needs: Amounts) -> int:
    return needs[hostmap.RESOURCE_CLASS] // needs[hostmap.SHARE_CLASS]


def _own(context: Any) -> Any:
    """Returns a context with transactions of its own."""
    return nova_context.get_admin_context()


def _make_row(project_id: str) -> None:
    key = {'project_id': _owner(project_id), 'resource': _LOCK}
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context) as session:
        if session.query(models.Quota).filter_by(**key).first():
            return
    with contextlib.suppress(db_exception.DBDuplicateEntry), (
            api_db.context_manager.writer.using(context)) as session:
        session.add(models.Quota(hard_limit=0, **key))


def _creates(context: Any, project_id: str) -> Iterator[Admitted]:
    """Yields the servers that are in no cell yet."""
    with api_db.context_manager.reader.using(context) as session:
        uuids = [row[0] for row in session.query(
            models.InstanceMapping.instance_uuid).filter_by(
                project_id=project_id, cell_id=None)]
    for uuid in uuids:
        try:
            spec = objects.RequestSpec.get_by_instance_uuid(context, uuid)
            needs = amounts(spec.flavor, spec.scheduler_hints,
                            spec.numa_topology)
        except (nova_exception.RequestSpecNotFound,
                exception.InvalidReservation):
            continue  # The server was deleted, or will be refused.
        if needs:
            yield Admitted(uuid, needs)


def _moves(context: Any, project_id: str) -> Iterator[Admitted]:
    """Yields the servers that are being resized or unshelved.

    A process that was killed does not finish its note.  After AGE, the state
    of the server decides, as it does for a note that is finished.
    """
    with api_db.context_manager.reader.using(context) as session:
        rows = [(row.resource.split(':'), row.hard_limit, row.created_at)
                for row in session.query(models.Quota).filter_by(
                    project_id=_owner(project_id)).filter(
                        models.Quota.resource.like(f'{_MOVE}:%'))]
    youngest_killed = timeutils.utcnow() - AGE
    for (_move, uuid, count, *begins), share, since in rows:
        if (begins and since > youngest_killed) or _waits(uuid):
            yield Admitted(uuid, hostmap.amounts(int(count), share), True)
        else:
            forget(context, project_id, uuid)


def _waits(uuid: str) -> bool:
    """Checks whether nova-scheduler has not decided yet."""
    server = servers.find(nova_context.get_admin_context(), uuid)
    return server is not None and server.task_state in _WAITING
