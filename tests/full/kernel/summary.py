# SPDX-License-Identifier: Apache-2.0

"""The result of a long run of random operations, and its verdict."""

from collections.abc import Mapping, Sequence
import contextlib
import dataclasses
import json
import os
import re

#: Lines of the kernel's log that mean that the kernel is broken.
_FATAL = re.compile(r'BUG|Oops|general protection|rcu.*stall|soft lockup')
_COMPLAINT = re.compile(rf'WARNING: |{_FATAL.pattern}')


@dataclasses.dataclass(frozen=True)
class Summary:
    """One run, on one boot.

    :ivar seconds: by the clock of the machine, which may be a virtual one
    :ivar kinds: how many operations of each kind
    :ivar off: measured share - reserved share, in CPUs, one for each guest
        and measurement
    :ivar wrong: sentences about what was not as it should be
    :ivar released: whether the kernel held nothing of ours at the end
    :ivar complaints: lines of the kernel's log
    """

    kernel: str
    interface: str
    seed: int
    operations: int
    seconds: float
    kinds: Mapping[str, int]
    off: Sequence[float]
    wrong: Sequence[str]
    released: bool
    complaints: Sequence[str]

    @property
    def worst(self) -> float | None:
        """The largest difference of a share, in CPUs; None for no share."""
        return max(map(abs, self.off), default=None)

    def faults(self, operations: int, tolerance: float | None) -> list[str]:
        """Returns why this is not enough; empty if it is.

        :param operations: how many were to be done
        :param tolerance: how far a share may be off, in CPUs; None if no
            share was to be measured
        """
        found = [*self.wrong, *(line for line in self.complaints
                                if _FATAL.search(line))]
        if self.operations < operations:
            found.append(f'{self.operations} of {operations} operations were '
                         'done')
        if tolerance is None:
            pass
        elif self.worst is None:
            found.append('no share was measured')
        elif self.worst > tolerance:
            found.append(f'a share is off by {self.worst:.4f}, more than '
                         f'{tolerance}')
        if not self.released:
            found.append('the kernel holds budgets at the end')
        return found

    @property
    def sentence(self) -> str:
        """Returns the figures for the table of kernels."""
        shares = ('no share' if self.worst is None else
                  f'{len(self.off)} shares within {self.worst:.4f}')
        return (f'{self.operations} operations, {len(self.wrong)} wrong, '
                f'{shares}')

    def as_json(self) -> str:
        """Returns one line, without the single shares."""
        return json.dumps(vars(self) | {
            'off': len(self.off), 'worst': self.worst,
            'sentence': self.sentence})


def complaints(log: str) -> list[str]:
    """Returns the complaints of the kernel about itself, each line once.

    :param log: records of /dev/kmsg
    """
    lines = (line.partition(';')[2] for line in log.splitlines())
    return list(dict.fromkeys(filter(_COMPLAINT.search, lines)))


def kernel_log() -> str:
    """Returns /dev/kmsg since the boot; '' if it cannot be read."""
    found = []
    with contextlib.suppress(OSError):
        handle = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        with contextlib.closing(os.fdopen(handle, 'rb', 0)) as log:
            while record := log.read(8192):
                found.append(record.decode(errors='replace'))
    return ''.join(found)
