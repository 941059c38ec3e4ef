# SPDX-License-Identifier: Apache-2.0

"""What came of one case, and how observations are judged."""

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
    """

    case: str
    level: Level
    observed: str


def of_shares(case: str, wanted: dict[str, float], found: dict[str, float],
              tolerance: float, known: str = '') -> Outcome:
    """Shares against what was promised, each within *tolerance*.

    :param known: why this interface does not promise it, '' if it does
    """
    off = any(abs(found[name] - share) > tolerance
              for name, share in wanted.items())
    texts = [f'{name} {found[name]:.4f} of {share:.3f}'
             for name, share in wanted.items()]
    observed = ', '.join(texts)
    if not off:
        return Outcome(case, Level.KEPT, observed)
    if known:
        return Outcome(case, Level.KNOWN, f'{observed}: {known}')
    return Outcome(case, Level.BROKEN, observed)
