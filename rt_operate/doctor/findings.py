# SPDX-License-Identifier: Apache-2.0

"""The findings of the doctor, and the words that their texts share.

The module ``report`` prints findings.
"""

from collections.abc import Iterable, Sequence
import dataclasses
import enum

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import words

_SHOWN = 3


class Level(enum.Enum):
    """The severity of a finding; the values are part of the JSON output."""

    PROBLEM = 'problem'
    WARNING = 'warning'
    OK = 'OK'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    :ivar id: the name of the check, which stays the same between releases
    :ivar text: one sentence
    :ivar remedy: what to do; '' where nothing is wrong
    """

    id: str
    level: Level
    text: str
    remedy: str = ''


def ok(name: str, text: str) -> Finding:
    """Returns a finding that nothing is wrong."""
    return Finding(name, Level.OK, text)


def warning(name: str, text: str, remedy: str) -> Finding:
    """Returns a finding that is a warning."""
    return Finding(name, Level.WARNING, text, remedy)


def problem(name: str, text: str, remedy: str) -> Finding:
    """Returns a finding that is a problem."""
    return Finding(name, Level.PROBLEM, text, remedy)


def exit_status(results: Iterable[Finding]) -> int:
    """Returns 0 if all is OK, 1 for warnings only, and 2 for problems."""
    levels = {finding.level for finding in results}
    if Level.PROBLEM in levels:
        return 2
    return 1 if Level.WARNING in levels else 0


def first_few(items: Sequence[object]) -> str:
    """Returns the first few items and the number of those left out."""
    shown = ', '.join(map(str, items[:_SHOWN]))
    rest = len(items) - _SHOWN
    return f'{shown} and {rest} more' if rest > 0 else shown


def share(ppm: int) -> str:
    """Returns a share as a decimal, and in ppm."""
    return f'{reservation.decimal(ppm)} ({ppm} ppm)'


def shares(lanes: Sequence[int], ids: Sequence[int]) -> str:
    """Returns the text of a share, or of the shares of several pCPUs.

    :param lanes: ppm; one value for all CPUs, or one for each of *ids*
    """
    if len(set(lanes)) == 1:
        return share(lanes[0])
    return ', '.join(
        f'{share(ppm)} on ' + words.ids(
            [cpu for cpu, own in zip(ids, lanes, strict=True) if own == ppm])
        for ppm in sorted(set(lanes), reverse=True) if ppm)


def reason(error: BaseException) -> str:
    """Returns an error as a clause that can follow a colon."""
    if isinstance(error, OSError) and error.strerror:
        where = f'{error.filename}: ' if error.filename else ''
        return f'{where}{error.strerror}'
    if isinstance(error, KeyError):
        return f'{error} is missing'
    return exception.clause(error) or type(error).__name__
