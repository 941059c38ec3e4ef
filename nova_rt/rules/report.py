# SPDX-License-Identifier: Apache-2.0

"""The report of nova-compute on its reservations, for the monitor.

nova-compute writes the report as JSON into a file, and nova-rt-monitor makes
metrics of it.
"""

import collections
from collections.abc import Mapping
import dataclasses
import json
from typing import Any

#: Why nova-compute refuses a claim.
NO_ROOM = 'no_room'
NO_RESERVATIONS = 'no_reservations'
FLAVOR = 'flavor'
REQUEST = 'request'
ALLOCATION = 'allocation'
UNREADABLE = 'unreadable'
REASONS = (NO_ROOM, NO_RESERVATIONS, FLAVOR, REQUEST, ALLOCATION, UNREADABLE)


@dataclasses.dataclass(slots=True)
class Tally:
    """The counts of a nova-compute since its start.

    :ivar refused: claims that were refused, by reason
    :ivar corrected: budgets that an audit corrected in the kernel
    :ivar missed: servers that did not start, because the kernel did not hold
        their reservation when it was read back
    :ivar unserved: servers that run without their reservation now
    """

    refused: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter)
    corrected: int = 0
    missed: int = 0
    unserved: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """The reservations of a host, as its nova-compute counts them.

    :ivar at: when the report was written, in seconds since the epoch
    :ivar version: the version of nova-rt
    :ivar interface: the name of the kernel interface; '' without one
    :ivar reason: why the host offers nothing; '' if it offers something
    :ivar offered: the ppm that all reservations together may have
    :ivar claimed: the ppm that servers have claimed
    :ivar strangers: the ppm held by guests that Nova does not have here
    :ivar servers: how many servers have a claim
    :ivar stranger_guests: how many strangers there are
    :ivar unserved: how many servers run without their reservation
    :ivar findings: how many differences the last audit found and reported
    """

    at: float
    version: str
    interface: str
    reason: str
    offered: int
    claimed: int
    strangers: int
    servers: int
    stranger_guests: int
    unserved: int
    findings: int
    refused: Mapping[str, int]
    corrected: int
    missed: int


def dump(report: Report) -> str:
    """Returns the report as JSON."""
    return json.dumps(dataclasses.asdict(report))


def load(text: str) -> Report:
    """Reads a report; keys of later versions are ignored.

    :raises ValueError: when the text is not a report
    """
    try:
        values: Any = json.loads(text)
        return Report(**{field.name: values[field.name]
                         for field in dataclasses.fields(Report)})
    except (KeyError, TypeError) as error:
        raise ValueError(f'the report lacks {error}') from error
