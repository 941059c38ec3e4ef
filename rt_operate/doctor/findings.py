# SPDX-License-Identifier: Apache-2.0

"""What the doctor has to say, without how it is printed."""

from collections.abc import Iterable, Sequence
import dataclasses
import enum

from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation

_SHOWN = 3


class Level(enum.Enum):
    """How bad it is; the values are part of the JSON output."""

    PROBLEM = 'problem'
    WARNING = 'warning'
    OK = 'OK'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing found out.

    :ivar id: of the check; stays the same between releases
    :ivar text: one sentence
    :ivar remedy: what to do; '' where nothing is wrong
    """

    id: str
    level: Level
    text: str
    remedy: str = ''


def ok(name: str, text: str) -> Finding:
    return Finding(name, Level.OK, text)


def warning(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Level.WARNING, text, remedy)


def problem(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, Level.PROBLEM, text, remedy)


def exit_status(found: Iterable[Finding]) -> int:
    """0 all OK, 1 warnings, 2 problems."""
    levels = {one.level for one in found}
    if Level.PROBLEM in levels:
        return 2
    return 1 if Level.WARNING in levels else 0


def some(items: Sequence[object]) -> str:
    """The first few, and how many more there are."""
    shown = ', '.join(map(str, items[:_SHOWN]))
    rest = len(items) - _SHOWN
    return f'{shown} and {rest} more' if rest > 0 else shown


def count(number: int, one: str, many: str = '') -> str:
    """``1 group``, ``2 groups``."""
    return f'{number} {one if number == 1 else many or one + "s"}'


def share(ppm: int) -> str:
    """A share as the project shows it, with the exact number."""
    return f'{reservation.decimal(ppm)} ({ppm} ppm)'


def shares(lanes: Sequence[int], ids: Sequence[int]) -> str:
    """ppm by lane: one for all CPUs, or one for each of *ids*."""
    if len(set(lanes)) == 1:
        return share(lanes[0])
    return ', '.join(
        f'{share(ppm)} on pCPUs ' + cpulist.format_ids(
            [cpu for cpu, own in zip(ids, lanes, strict=True) if own == ppm])
        for ppm in sorted(set(lanes), reverse=True) if ppm)


def reason(error: BaseException) -> str:
    """An error as a part of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        where = f'{error.filename}: ' if error.filename else ''
        return f'{where}{error.strerror}'
    if isinstance(error, KeyError):
        return f'{error} is missing'
    return exception.clause(error) or type(error).__name__
