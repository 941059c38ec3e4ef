# SPDX-License-Identifier: Apache-2.0

"""What came of one case, and how observations are judged."""

from collections.abc import Iterable
import dataclasses
import enum

#: Of a CPU: how far a share may be from what was promised.
TOLERANCE = 0.02


class Level(enum.Enum):
    """How a promise fared."""

    KEPT = 'kept'
    #: as documented of this interface: not promised
    KNOWN = 'known'
    BROKEN = 'broken'
    SKIPPED = 'skipped'


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One case.

    :ivar observed: a sentence or figures
    :ivar off: the largest difference between a measured share and what was
        promised, in CPUs; None if none was measured
    """

    case: str
    level: Level
    observed: str
    off: float | None = None


def of_shares(case: str, wanted: dict[str, float], found: dict[str, float],
              tolerance: float, known: str = '') -> Outcome:
    """Shares against what was promised, each within *tolerance*.

    :param known: why this interface does not promise it, '' if it does
    """
    off = max(abs(found[name] - share) for name, share in wanted.items())
    texts = [f'{name} {found[name]:.4f} of {share:.3f}'
             for name, share in wanted.items()]
    observed = ', '.join(texts)
    if off <= tolerance:
        return Outcome(case, Level.KEPT, observed, off)
    if known:
        return Outcome(case, Level.KNOWN, f'{observed}: {known}', off)
    return Outcome(case, Level.BROKEN, observed, off)


def worst(found: Iterable[Outcome]) -> float | None:
    """The largest difference of a promised share, in CPUs; None for none."""
    return max((one.off for one in found if one.off is not None
                and one.level is not Level.KNOWN), default=None)
