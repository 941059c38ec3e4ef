# SPDX-License-Identifier: Apache-2.0

"""What the demonstration found, for people and as JSON."""

import json
import pathlib
from typing import Any

from demo import host

#: How far a share may be off, in parts of a CPU.
TOLERANCE = 0.01
#: By the budget of a group, or by the thread of each vCPU.
RIGHT = tuple({'guest': [policy], 'host': ['SCHED_OTHER']}
              for policy in ('SCHED_RR', 'SCHED_DEADLINE'))


class Report:
    """Collects while the demonstration runs.

    :param tolerance: how far a share may be off, in parts of a CPU
    """

    def __init__(self, guest: str, tolerance: float) -> None:
        self._guest = guest
        self._tolerance = tolerance
        self._servers: dict[str, dict[str, Any]] = {}
        self._refused: list[dict[str, str]] = []
        self._leftovers: dict[str, int] = {}
        self._problems: list[str] = []
        self.seconds: dict[str, float] = {}

    def problem(self, text: str) -> None:
        """Something is not as it must be; the demonstration fails."""
        print(f'PROBLEM: {text}', flush=True)
        self._problems.append(text)

    def measured(self, server: host.Server, condition: str, share: float,
                 tasks: int) -> None:
        """A measurement beside what was claimed and what the kernel has."""
        claim = server.claim
        if claim is None:
            self.problem(f'{server.name} holds no claim')
            return
        wanted = claim.reservation
        kernel = server.kernel
        entry = self._servers.setdefault(server.name, {
            'name': server.name, 'runtime_us': wanted.runtime_us,
            'period_us': wanted.period_us, 'pcpus': list(claim.cpus),
            'kernel': kernel, 'state': server.state, 'busy_tasks': tasks,
            'policies': host.policies(server), 'shares': {}})
        entry['measured_share'] = entry['shares'][condition] = round(share, 4)
        print(f'  {server.name:7} {condition:7} {wanted.runtime_us:8} '
              f'{wanted.period_us:8} {str(list(claim.cpus)):6} '
              f'{kernel["runtime_us"]:8} {kernel["period_us"]:8} '
              f'{tasks:5} {wanted.share:9.3f} {share:9.4f}', flush=True)
        if kernel != {'runtime_us': wanted.runtime_us,
                      'period_us': wanted.period_us}:
            self.problem(f'the kernel holds {kernel} for {server.name}')
        if abs(share - wanted.share) > self._tolerance:
            self.problem(f'{server.name} got {share:.4f} of a CPU '
                         f'instead of {wanted.share:.3f}')

    def policies(self, server: host.Server) -> None:
        """What the scheduler takes its tasks, and the others, for."""
        found = host.policies(server)
        print(f'  {server.name}: {server.kind.own_tasks} '
              f'{" ".join(found["guest"])}, {server.kind.other_tasks} '
              f'{" ".join(found["host"])}', flush=True)
        if found not in RIGHT:
            self.problem(f'policies of {server.name}: {found}')

    @staticmethod
    def heading() -> None:
        print(f'  {"server":7} {"":7} {"runtime":>8} {"period":>8} '
              f'{"pCPUs":6} {"kernel":>8} {"kernel":>8} {"busy":>5} '
              f'{"runtime/":>9} {"measured":>9}\n'
              f'  {"":15} {"us":>8} {"us":>8} {"":6} {"runtime":>8} '
              f'{"period":>8} {"tasks":>5} {"period":>9} {"share":>9}')

    def refused(self, request: str, reason: str) -> None:
        self._refused.append({'request': request, 'reason': reason})

    def leftovers(self, **found: int) -> None:
        self._leftovers = found
        print('  left over: ' + ', '.join(
            f'{name} {count}' for name, count in found.items()))
        for name, count in found.items():
            if count:
                self.problem(f'{count} of {name} are left')

    def write(self, path: pathlib.Path) -> None:
        path.write_text(json.dumps({
            'guest': self._guest, 'servers': list(self._servers.values()),
            'refused': self._refused, 'leftovers': self._leftovers,
            'seconds': self.seconds, 'problems': self._problems},
            indent=2) + '\n')

    @property
    def failed(self) -> bool:
        return bool(self._problems)
