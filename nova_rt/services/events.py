# SPDX-License-Identifier: Apache-2.0

"""Logs each decision about a reservation as an event that programs can read.

An event is one line at level INFO of the logger ``nova_rt.services.events``:
its name and its fields, as ``key=value``.  Formatters of oslo.log that write
JSON have the same fields as ``extra.rt_event``.  The modules that decide also
log texts for people.
"""

import collections
from collections.abc import Mapping
import dataclasses
import json
from typing import Any, Protocol

from oslo_context import context as oslo_context
from oslo_log import log as logging

from nova_rt.rules import cpulist
from nova_rt.rules import reservation

LOG = logging.getLogger(__name__)

_CLAIM = ('server', 'runtime_us', 'period_us', 'pcpus', 'move')
#: The fields that each event also has; '' outside of a request.
REQUEST = ('request_id', 'global_request_id')


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """A decision.

    :ivar services: the services that log the event
    :ivar fields: the fields in addition to those of the request
    """

    name: str
    services: str
    fields: tuple[str, ...]


ADMITTED = Event('rt.admitted', 'nova-compute', _CLAIM)
REFUSED = Event('rt.refused', 'nova-api, nova-scheduler, nova-compute',
                ('server', 'by', 'reason', 'detail'))
APPLIED = Event('rt.applied', 'nova-compute', (*_CLAIM, 'ms'))
MISSED = Event('rt.missed', 'nova-compute', ('server', 'then', 'detail'))
CORRECTED = Event('rt.corrected', 'nova-compute',
                  ('server', 'runtime_us', 'period_us', 'pcpus'))
CHANGED = Event('rt.changed', 'nova-compute',
                (*_CLAIM, 'old_runtime_us', 'old_period_us', 'old_pcpus'))
MOVED = Event('rt.moved', 'nova-compute', (*_CLAIM, 'how'))
RELEASED = Event('rt.released', 'nova-compute', _CLAIM)
#: All events, in the order of the life of a server.
EVENTS = (ADMITTED, REFUSED, APPLIED, MISSED, CORRECTED, CHANGED, MOVED,
          RELEASED)

#: Who refused a reservation.
API, SCHEDULER, PLACEMENT, COMPUTE = BY = (
    'api', 'scheduler', 'placement', 'compute')
#: Reasons in addition to report.REASONS.
POLICY, QUOTA, TOGETHER = MORE_REASONS = 'policy', 'quota', 'together'
#: What nova-compute did with a guest that lacks its reservation.
ENDED, RUNS = THEN = 'ended', 'runs'
#: How a server came to its host.
LIVE, COLD, EVACUATED = HOW = 'live', 'cold', 'evacuated'

#: The last lines of this process, for the Guru Meditation Report.
recent: collections.deque[str] = collections.deque(maxlen=20)


class Claim(Protocol):
    """A claim of nova-compute."""

    @property
    def instance_uuid(self) -> str:
        """The server."""

    @property
    def move(self) -> int:
        """The id of the migration that made the claim; 0 for a build."""

    @property
    def reservation(self) -> reservation.Reservation:
        """The reservation of each vCPU."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """The pCPUs, in the order of the vCPUs."""


def admitted(claim: Claim) -> None:
    """Logs that a claim was made."""
    _tell(ADMITTED, _of_claim(claim))


def refused(by: str, reason: str, detail: str, server: str = '') -> None:
    """Logs that a reservation was refused.

    :param by: one of BY
    :param reason: one of report.REASONS and MORE_REASONS
    :param detail: for the operator
    :param server: '' if the server does not exist yet
    """
    _tell(REFUSED, {'server': server, 'by': by, 'reason': reason,
                    'detail': detail})


def applied(claim: Claim, ms: int = 0) -> None:
    """Logs that the kernel holds the reservation of a guest that started.

    :param ms: milliseconds since the start of the guest; 0 if not known
    """
    _tell(APPLIED, _of_claim(claim) | {'ms': ms})


def missed(server: str, then: str, detail: str) -> None:
    """Logs that the kernel does not hold the reservation of a guest.

    :param then: one of THEN
    """
    _tell(MISSED, {'server': server, 'then': then, 'detail': detail})


def corrected(server: str, claim: Claim | None) -> None:
    """Logs that an audit corrected the kernel.

    :param claim: the claim that the kernel got; None if a budget was taken
        back
    """
    fields = _of_claim(claim) if claim else dict.fromkeys(_CLAIM, '')
    _tell(CORRECTED, {name: fields[name] for name in CORRECTED.fields}
          | {'server': server})


def changed(old: Claim, new: Claim) -> None:
    """Logs that a server that runs got another reservation."""
    before = _of_claim(old)
    _tell(CHANGED, _of_claim(new) | {
        f'old_{name}': before[name]
        for name in ('runtime_us', 'period_us', 'pcpus')})


def moved(claim: Claim, how: str) -> None:
    """Logs that a server with a reservation came to this host.

    :param how: one of HOW
    """
    _tell(MOVED, _of_claim(claim) | {'how': how})


def released(claim: Claim) -> None:
    """Logs that a claim no longer counts on this host."""
    _tell(RELEASED, _of_claim(claim))


def _of_claim(claim: Claim) -> dict[str, Any]:
    return {'server': claim.instance_uuid,
            'runtime_us': claim.reservation.runtime_us,
            'period_us': claim.reservation.period_us,
            'pcpus': cpulist.format_ids(sorted(claim.cpus)),
            'move': claim.move}


def _tell(event: Event, fields: Mapping[str, Any]) -> None:
    context = oslo_context.get_current()
    values = {'event': event.name, **{
        name: getattr(context, name, None) or '' for name in REQUEST},
        **fields}
    line = ' '.join([event.name, *(f'{name}={_text(value)}'
                                   for name, value in values.items()
                                   if name != 'event')])
    recent.append(line)
    LOG.info('%s', line, rt_event=values)


def _text(value: Any) -> str:
    """Returns a value as one word, in quotes where it has to be."""
    text = str(value)
    plain = text.isprintable() and not set(text) & set(' "=\\')
    return text if plain and text else json.dumps(text)
