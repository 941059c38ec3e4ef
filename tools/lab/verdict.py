# SPDX-License-Identifier: Apache-2.0

"""Judges a boot of a kernel in the lab by its console and its results."""

from collections.abc import Sequence
import dataclasses
import enum
import json
import re

from lab import jobs

_DEATH = re.compile(r'[Kk]ernel BUG at .*|Kernel panic - .*|BUG: .*|Oops: .*')
_WARNING = re.compile(r'WARNING: .*')
_INDENT = '    '
_LINES = 12


class Outcome(enum.IntEnum):
    """The outcome of a boot; its number is the exit status (2: bad input)."""

    PASSED = 0
    FAILED = 1
    PANIC = 3
    TIMEOUT = 4
    NO_BOOT = 5


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The verdict on one boot of one kernel.

    :ivar release: the release that the kernel named, '' if it named none
    :ivar boot_seconds: uptime when the first job began
    :ivar seconds: how long the whole boot took on this host
    :ivar deaths, warnings: lines of the console, each line once
    """

    kernel: str
    release: str
    cgroup: str
    cpus: int
    icount: bool
    boot_seconds: float | None
    seconds: float
    outcome: Outcome
    results: tuple[jobs.Result, ...]
    deaths: tuple[str, ...]
    warnings: tuple[str, ...]


def deaths(console: str) -> tuple[str, ...]:
    """Returns the lines that the kernel printed as it died, in order."""
    return tuple(dict.fromkeys(_DEATH.findall(console)))


def warnings(console: str) -> tuple[str, ...]:
    """Returns the places in the kernel that warned, in order."""
    return tuple(dict.fromkeys(_WARNING.findall(console)))


def judge(results: Sequence[jobs.Result], died: Sequence[str],
          in_time: bool, booted: bool) -> Outcome:
    """Returns the worst outcome; a panic is worse than what it causes."""
    if died:
        return Outcome.PANIC
    if not in_time:
        return Outcome.TIMEOUT
    if not booted:
        return Outcome.NO_BOOT
    return (Outcome.PASSED if all(one.status == 0 for one in results)
            else Outcome.FAILED)


def cpus(verdict: Verdict) -> str:
    """Returns the number of CPUs, and whether the clock was deterministic."""
    return f'{verdict.cpus}{" by icount" if verdict.icount else ""}'


def as_json(verdict: Verdict) -> str:
    """Returns the whole verdict as JSON, for a program."""
    content = dataclasses.asdict(verdict)
    content['outcome'] = verdict.outcome.name.lower()
    return json.dumps(content, indent=2)


def as_text(verdict: Verdict) -> str:
    """Returns the verdict for people, with the last output of failed jobs."""
    boot = ('never ready' if verdict.boot_seconds is None
            else f'ready after {verdict.boot_seconds:.0f} s')
    lines = [f'{verdict.kernel}: {verdict.release or "no release"}, '
             f'cgroup {verdict.cgroup}, CPUs: {cpus(verdict)}, {boot}']
    for one in verdict.results:
        lines += _job_lines(one)
    lines += [f'died: {line}' for line in verdict.deaths]
    lines += [f'warned: {line}' for line in verdict.warnings]
    lines.append(f'{verdict.outcome.name.lower()} in '
                 f'{verdict.seconds:.0f} s')
    return '\n'.join(lines)


def _job_lines(one: jobs.Result) -> list[str]:
    counts = (f', {one.passed} passed, {one.failed} failed, '
              f'{one.skipped} skipped' if one.passed or one.failed
              or one.skipped else '')
    ended = 'did not end' if one.status is None else (
        f'exit status {one.status} in {one.seconds} s')
    lines = [f'{one.name}: {ended}{counts}']
    if one.status != 0 or one.name == jobs.COMMAND:
        lines += [_INDENT + line
                  for line in one.output.splitlines()[-_LINES:]]
    return lines
