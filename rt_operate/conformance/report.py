# SPDX-License-Identifier: Apache-2.0

"""The outcomes for a person, for a program, and for after a crash."""

from collections.abc import Sequence
import dataclasses
import json
import os
import pathlib

from nova_rt.rules import exception
from rt_operate.conformance import outcome


@dataclasses.dataclass(frozen=True)
class Facts:
    """What was tried.

    :ivar cgroup: version of the hierarchy, 1 or 2
    :ivar capacity_ppm: that could be reserved of each pCPU
    """

    interface: str
    release: str
    cgroup: int
    capacity_ppm: int


class Log:
    """A file that survives a crash of the host, line by line.

    :raises InvalidConfiguration: it cannot be written
    """

    def __init__(self, path: pathlib.Path | None) -> None:
        self._path = path
        self.write('conformance: begins')

    def write(self, line: str) -> None:
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
                rule=f'it cannot be written: {error.strerror}') from error


def as_text(facts: Facts, found: Sequence[outcome.Outcome]) -> str:
    """A line for each case and one that counts."""
    width = max(len(one.case) for one in found)
    lines = [f'{facts.interface} on Linux {facts.release}, cgroup '
             f'v{facts.cgroup}, {facts.capacity_ppm} ppm of each pCPU', '']
    lines += [f'{one.level.value:8}{one.case:{width}}  {one.observed}'
              for one in found]
    counts = [f'{sum(one.level is level for one in found)} {level.value}'
              for level in outcome.Level]
    worst = outcome.worst(found)
    if worst is not None:
        counts.append(f'shares within {worst:.4f} of a CPU')
    return '\n'.join([*lines, '', ', '.join(counts)])


def as_json(facts: Facts, found: Sequence[outcome.Outcome]) -> str:
    worst = outcome.worst(found)
    return json.dumps({
        **dataclasses.asdict(facts),
        'worst': None if worst is None else round(worst, 4),
        'cases': [{'case': one.case, 'level': one.level.value,
                   'observed': one.observed} for one in found],
    }, indent=2)
