# SPDX-License-Identifier: Apache-2.0

"""The outcome of a case, and how observations are judged."""

from collections.abc import Iterable
import dataclasses
import enum

#: How far a share may differ from the promise, in CPUs.
TOLERANCE = 0.02


class Verdict(enum.Enum):
    """A verdict on a promise."""

    KEPT = 'kept'
    #: This interface is documented not to make the promise.
    KNOWN = 'known'
    BROKEN = 'broken'
    SKIPPED = 'skipped'


@dataclasses.dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case.

    :ivar observed: a sentence or figures
    :ivar off: the largest difference between a measured share and the
        promised share, in CPUs; None if no share was measured
    """

    case: str
    level: Verdict
    observed: str
    off: float | None = None


def judge_shares(case: str, wanted: dict[str, float],
                 measured: dict[str, float], tolerance: float, known: str = ''
                 ) -> CaseOutcome:
    """Compares measured shares with promised shares.

    :param wanted: the promised shares, by name
    :param measured: the measured shares, by name
    :param tolerance: how far each share may differ, in CPUs
    :param known: why this interface does not promise the shares; '' if it
        promises them
    """
    off = max(abs(measured[name] - share) for name, share in wanted.items())
    texts = [f'{name} {measured[name]:.4f} of {share:.3f}'
             for name, share in wanted.items()]
    observed = ', '.join(texts)
    if off <= tolerance:
        return CaseOutcome(case, Verdict.KEPT, observed, off)
    if known:
        return CaseOutcome(case, Verdict.KNOWN, f'{observed}: {known}', off)
    return CaseOutcome(case, Verdict.BROKEN, observed, off)


def worst(outcomes: Iterable[CaseOutcome]) -> float | None:
    """Returns the largest difference from a promised share, in CPUs.

    :returns: None if no promised share was measured
    """
    return max((result.off for result in outcomes if result.off is not None
                and result.level is not Verdict.KNOWN), default=None)
