# SPDX-License-Identifier: Apache-2.0

"""Prints the outcomes as text and JSON, and keeps a log for crashes."""

from collections.abc import Sequence
import dataclasses
import json
import os
import pathlib

from nova_rt.cli import formats
from nova_rt.rules import exception
from rt_operate.conformance import outcome


@dataclasses.dataclass(frozen=True)
class Facts:
    """The kernel that was tried.

    :ivar release: the release of the kernel
    :ivar cgroup: the version of the hierarchy, 1 or 2
    :ivar capacity_ppm: the bandwidth that could be reserved
    :ivar of_each_pcpu: whether this could be reserved of each pCPU, or of all
        pCPUs together
    """

    interface: str
    release: str
    cgroup: int
    capacity_ppm: int
    of_each_pcpu: bool


class Log:
    """A log file that loses no line if the host crashes.

    :raises InvalidConfiguration: when the file cannot be written
    """

    def __init__(self, path: pathlib.Path | None) -> None:
        self._path = path
        self.write('conformance: begins')

    def write(self, line: str) -> None:
        """Writes a line and waits until it is on the disk.

        :raises InvalidConfiguration: when the file cannot be written
        """
        if self._path is None:
            return
        try:
            with self._path.open('a') as file:
                file.write(f'{line}\n')
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise exception.InvalidConfiguration(
                option='--log', value=self._path,
                rule=f'the file cannot be written: {error.strerror}'
            ) from error


def as_text(facts: Facts, outcomes: Sequence[outcome.CaseOutcome]) -> str:
    """Returns a line for each case; the last line counts them."""
    width = max(len(result.case) for result in outcomes)
    lines = [f'{facts.interface} on Linux {facts.release}, cgroup '
             f'v{facts.cgroup}, {facts.capacity_ppm} ppm '
             f'{"of each pCPU" if facts.of_each_pcpu else "in all"}', '']
    lines += [f'{result.level.value:8}{result.case:{width}}  {result.observed}'
              for result in outcomes]
    counts = [
        f'{sum(result.level is level for result in outcomes)} {level.value}'
        for level in outcome.Verdict]
    worst = outcome.worst(outcomes)
    if worst is not None:
        counts.append(f'shares within {worst:.4f} of a CPU')
    return '\n'.join([*lines, '', ', '.join(counts)])


def as_json(facts: Facts, outcomes: Sequence[outcome.CaseOutcome]) -> str:
    """Returns the outcomes as JSON."""
    worst = outcome.worst(outcomes)
    return json.dumps({
        **dataclasses.asdict(facts),
        'worst': None if worst is None else round(worst, 4),
        'cases': [{'case': result.case, 'level': result.level.value,
                   'observed': result.observed} for result in outcomes],
    }, indent=2)


def as_table(outcomes: Sequence[outcome.CaseOutcome]) -> formats.Table:
    """Returns a row for each case; the last column is in CPUs."""
    return formats.Table(('Level', 'Case', 'Observed', 'Off (CPUs)'), [
        (result.level.value, result.case, result.observed, result.off)
        for result in outcomes])
