# SPDX-License-Identifier: Apache-2.0

"""The results of the demonstration, for people and as JSON."""

import json
import pathlib
from typing import Any

from demo import acts
from demo import host

#: How far a share may be off, in CPUs.
TOLERANCE = 0.01
#: Whether a group's budget or the thread of each vCPU is reserved.
RIGHT = tuple({'guest': [policy], 'host': ['SCHED_OTHER']}
              for policy in ('SCHED_RR', 'SCHED_DEADLINE'))


class Report:
    """Collects the results while the demonstration runs, act by act.

    :param tolerance: how far a share may be off, in CPUs
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._acts: list[acts.Act] = []
        self._skipped: dict[str, str] = {}
        self._servers: dict[tuple[str, str], dict[str, Any]] = {}
        self._refused: list[dict[str, str]] = []
        self._leftovers: dict[str, int] = {}
        self._problems: list[str] = []
        self._seconds: dict[str, dict[str, float]] = {}
        self.total = 0.0

    def begin(self, act: acts.Act) -> None:
        """Begins an act, to which all later reports belong."""
        self._acts.append(act)
        self._seconds[act.guest] = {}

    def skip(self, act: acts.Act, reason: str) -> None:
        """Reports that this host cannot show an act."""
        print(f'\n{reason}', flush=True)
        self._skipped[act.guest] = reason

    @property
    def is_first_act(self) -> bool:
        """Returns whether the present act is the first one."""
        return len(self._acts) == 1

    @property
    def _guest(self) -> str:
        return self._acts[-1].guest

    def took(self, step: str, seconds: float) -> None:
        """Reports the time of one step."""
        self._seconds[self._guest][step] = round(seconds, 1)

    def problem(self, text: str) -> None:
        """Reports a problem, which makes the demonstration fail."""
        print(f'PROBLEM: {text}', flush=True)
        self._problems.append(f'{self._guest}: {text}')

    def measured(self, server: host.Server, condition: str, share: float,
                 tasks: int) -> None:
        """Reports a measured share beside the claim and the budget."""
        claim = server.claim
        if claim is None:
            self.problem(f'{server.name} holds no claim')
            return
        wanted = claim.reservation
        kernel = server.kernel
        entry = self._servers.setdefault((self._guest, server.name), {
            'guest': self._guest, 'name': server.name,
            'runtime_us': wanted.runtime_us,
            'period_us': wanted.period_us, 'pcpus': list(claim.cpus),
            'kernel': kernel, 'state': server.state, 'busy_tasks': tasks,
            'policies': host.policies(server), 'shares': {}})
        entry['measured_share'] = entry['shares'][condition] = round(share, 4)
        print(f'  {server.name:7} {condition:7} {wanted.runtime_us:8} '
              f'{wanted.period_us:8} {str(list(claim.cpus)):6} '
              f'{kernel["runtime_us"]:8} {kernel["period_us"]:8} '
              f'{tasks:5} {wanted.share:9.3f} {share:9.4f}', flush=True)
        if kernel != {'runtime_us': claim.in_kernel.runtime_us,
                      'period_us': claim.in_kernel.period_us}:
            self.problem(f'the kernel holds {kernel} for {server.name}')
        if abs(share - wanted.share) > self._tolerance:
            self.problem(f'{server.name} got {share:.4f} of a CPU '
                         f'instead of {wanted.share:.3f}')

    def policies(self, server: host.Server) -> None:
        """Reports the scheduling policies of a server's tasks."""
        names = host.policies(server)
        print(f'  {server.name}: {server.kind.own_tasks} '
              f'{" ".join(names["guest"])}, {server.kind.other_tasks} '
              f'{" ".join(names["host"])}', flush=True)
        if names not in RIGHT:
            self.problem(f'policies of {server.name}: {names}')

    @staticmethod
    def heading() -> None:
        """Prints the heading of the measurements."""
        print(f'  {"server":7} {"":7} {"runtime":>8} {"period":>8} '
              f'{"pCPUs":6} {"kernel":>8} {"kernel":>8} {"busy":>5} '
              f'{"runtime/":>9} {"measured":>9}\n'
              f'  {"":15} {"us":>8} {"us":>8} {"":6} {"runtime":>8} '
              f'{"period":>8} {"tasks":>5} {"period":>9} {"share":>9}')

    def refused(self, request: str, reason: str) -> None:
        """Reports a request that was refused, as it should be."""
        self._refused.append({'guest': self._guest, 'request': request,
                              'reason': reason})

    def leftovers(self, **counts: int) -> None:
        """Reports claims and budgets that an act left behind."""
        print('  left over: ' + ', '.join(
            f'{name} {count}' for name, count in counts.items()))
        for name, count in counts.items():
            self._leftovers[name] = self._leftovers.get(name, 0) + count
            if count:
                self.problem(f'{name} that are left: {count}')

    def close(self, seconds: float) -> None:
        """Prints one line for each act, the problems again, and the verdict.

        :param seconds: the time of the whole demonstration
        """
        self.total = round(seconds, 1)
        print()
        for act in self._acts:
            print(f'{act.title}: {self._summary(act.guest)}')
        for problem in self._problems:
            print(f'PROBLEM: {problem}')
        print(f'{"FAILED" if self.failed else "All as it should be"} '
              f'after {self.total} s', flush=True)

    def _summary(self, guest: str) -> str:
        chosen = [server for server in self._servers.values()
                  if server['guest'] == guest]
        wrong = [abs(share - server['runtime_us'] / server['period_us'])
                 for server in chosen for share in server['shares'].values()]
        refused = sum(each['guest'] == guest for each in self._refused)
        return (f'{len(wrong)} shares of {len(chosen)} servers at most '
                f'{max(wrong, default=0):.4f} off, {refused} requests refused')

    def write(self, path: pathlib.Path) -> None:
        """Writes the report as JSON."""
        path.write_text(json.dumps({
            'guests': {act.guest: act.interface or 'probed'
                       for act in self._acts},
            'skipped': self._skipped,
            'servers': list(self._servers.values()),
            'refused': self._refused, 'leftovers': self._leftovers,
            'seconds': {**self._seconds, 'total': self.total},
            'problems': self._problems}, indent=2) + '\n')

    @property
    def failed(self) -> bool:
        """Returns whether there was a problem."""
        return bool(self._problems)
