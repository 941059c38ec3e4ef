# SPDX-License-Identifier: Apache-2.0

"""The cases: each is a function that acts on a stage.

The riskier cases come last.
"""

from collections.abc import Callable
import dataclasses
import functools
import time

from nova_rt.machine.trial import busy
from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_operate.conformance import outcome
from rt_operate.conformance import stage as stages

Outcome = outcome.CaseOutcome
Level = outcome.Verdict

_PERIOD = 100_000
#: A multiple of all periods in this module.
_SECONDS = 3.0
#: A priority above all guests and below the threads of the kernel.
_HOG_PRIORITY = 50
#: The time until a resize is surely in force: longer than the longest period
#: in this module.
_SETTLE_SECONDS = 1.2
#: The runtime in us of a thread that reclaims unused bandwidth.
_FOREIGN = 30_000


def share(stage: stages.Stage, tolerance: float) -> Outcome:
    """A group gets its share beside a busy ordinary process."""
    process = stage.group('a', 40_000, _PERIOD)
    stage.process()
    shares = {'a': busy.share(process, _SECONDS)}
    return outcome.judge_shares('share', {'a': 0.4}, shares, tolerance)


def cap(stage: stages.Stage, tolerance: float) -> Outcome:
    """A group gets no more than its budget, even on an idle pCPU."""
    process = stage.group('a', 40_000, _PERIOD)
    shares = {'a': busy.share(process, _SECONDS)}
    return outcome.judge_shares('cap', {'a': 0.4}, shares, tolerance)


def company(stage: stages.Stage, tolerance: float) -> Outcome:
    """Two groups on one pCPU both get their share."""
    processes = {'a': stage.group('a', 40_000, _PERIOD),
                 'b': stage.group('b', 45_000, _PERIOD)}
    shares = _together(processes)
    return outcome.judge_shares('company', {'a': 0.4, 'b': 0.45}, shares,
                                tolerance)


def guarantee(stage: stages.Stage, tolerance: float) -> Outcome:
    """A group gets its share beside a real-time process of the host."""
    process = stage.group('a', 40_000, _PERIOD)
    stage.process(seconds=_SECONDS + 1).real_time(_HOG_PRIORITY)
    shares = {'a': busy.share(process, _SECONDS)}
    return outcome.judge_shares('guarantee', {'a': 0.4}, shares, tolerance,
                                stage.known.get('guarantee', ''))


def reclaim(stage: stages.Stage, tolerance: float) -> Outcome:
    """A thread that reclaims (SCHED_FLAG_RECLAIM) takes only what is left.

    The group and this thread together reserve all bandwidth of the pCPU that
    may be reserved.
    """
    try:
        foreign = stage.foreign(_FOREIGN, _PERIOD)
    except (exception.KernelError, OSError) as error:
        return Outcome('reclaim', Level.KEPT, f'refused: {error}')
    small = 20_000
    large = stage.ppm // (reservation.PPM // _PERIOD) - _FOREIGN - small
    processes = {'a': stage.group('a', large, _PERIOD),
                 'b': stage.group('b', small, _PERIOD)}
    shares = _together({**processes, 'foreign': foreign})
    judged = outcome.judge_shares(
        'reclaim', {'a': large / _PERIOD, 'b': small / _PERIOD}, shares,
        tolerance, stage.known.get('reclaim', ''))
    return dataclasses.replace(
        judged, observed=f'{judged.observed}; the other thread '
                         f'got {shares["foreign"]:.4f}')


def overfull(stage: stages.Stage, tolerance: float) -> Outcome:
    """A budget that does not fit is refused, and nothing changes."""
    stage.group('a', 60_000, _PERIOD)
    try:
        stage.group('b', 60_000, _PERIOD)
    except exception.KernelError as error:
        budgets = stage.budget('a'), stage.budget('b')
        level = (Level.KEPT if budgets == ((60_000, _PERIOD), None)
                 else Level.BROKEN)
        return Outcome('overfull', level, f'{error}')
    reason = stage.known.get('overfull', '')
    return Outcome('overfull', Level.KNOWN if reason else Level.BROKEN,
                   f'the kernel accepted 0.6 + 0.6 on one pCPU'
                   f'{reason and ": " + reason}')


def resize(stage: stages.Stage, tolerance: float) -> Outcome:
    """A new budget is in force within a period while the process runs."""
    process = stage.group('a', 20_000, _PERIOD)
    stage.process()
    wanted, shares = {}, {}
    for runtime, period in ((50_000, 100_000), (120_000, 200_000),
                            (10_000, 20_000), (300_000, 1_000_000)):
        name = f'{runtime}/{period}'
        stage.reserve('a', runtime, period)
        time.sleep(_SETTLE_SECONDS)
        wanted[name] = runtime / period
        shares[name] = busy.share(process, _SECONDS)
    return outcome.judge_shares('resize', wanted, shares, tolerance)


def release(stage: stages.Stage, tolerance: float) -> Outcome:
    """A budget can be taken back while the process runs on."""
    stage.group('a', 40_000, _PERIOD)
    begin = time.monotonic()
    stage.release('a')
    seconds = time.monotonic() - begin
    budget = stage.budget('a')
    return Outcome('release', Level.BROKEN if budget else Level.KEPT,
                   f'in {seconds:.2f} s; the kernel holds '
                   f'{budget or "nothing"}')


def again(stage: stages.Stage, tolerance: float) -> Outcome:
    """The budget of a killed guest is at once free for the next guest."""
    stage.group('a', 80_000, _PERIOD)
    stage.destroy('a')
    begin = time.monotonic()
    process = stage.group('b', 80_000, _PERIOD)
    seconds = time.monotonic() - begin
    shares = {'b': busy.share(process, _SECONDS)}
    judged = outcome.judge_shares('re-use', {'b': 0.8}, shares, tolerance)
    return dataclasses.replace(
        judged, observed=f'{judged.observed}, {seconds:.2f} s after the first')


def migration(stage: stages.Stage, tolerance: float) -> Outcome:
    """A throttled process that changes its pCPU does no harm."""
    first, second = stage.cpus
    if first == second:
        return Outcome('migration', Level.SKIPPED,
                       'there is only one pCPU')
    process = stage.group('a', 20_000, _PERIOD)
    end = time.monotonic() + _SECONDS
    begin, used = time.monotonic_ns(), process.used_ns()
    number = 0
    while time.monotonic() < end:
        number += 1
        process.pin({stage.cpus[number % 2]})
        time.sleep(0.013)
    got = (process.used_ns() - used) / (time.monotonic_ns() - begin)
    # The group has its budget on both pCPUs, the process runs on one.
    level = Level.KEPT if got <= 2 * 0.2 + tolerance else Level.BROKEN
    return Outcome('migration', level,
                   f'moved {number} times; got {got:.4f} of at most 0.400')


def shorter(stage: stages.Stage, tolerance: float) -> Outcome:
    """A budget can be taken back right after its period was shortened."""
    stage.group('a', 100_000, 1_000_000)
    time.sleep(_SETTLE_SECONDS)
    stage.reserve('a', 5_000, 50_000)
    stage.release('a')
    return Outcome('shorter period', Level.KEPT, 'released at once')


def small(stage: stages.Stage, tolerance: float) -> Outcome:
    """A runtime far below a tick of 1 ms is refused or does no harm."""
    try:
        stage.group('a', 200, 20_000)
    except exception.KernelError as error:
        return Outcome('small runtime', Level.KEPT, f'refused: {error}')
    time.sleep(_SETTLE_SECONDS)
    stage.release('a')
    return Outcome('small runtime', Level.KEPT, 'released at once')


def _together(processes: dict[str, busy.Busy]) -> dict[str, float]:
    begin = time.monotonic_ns()
    used = {name: process.used_ns() for name, process in processes.items()}
    time.sleep(_SECONDS)
    passed = time.monotonic_ns() - begin
    return {name: (process.used_ns() - used[name]) / passed
            for name, process in processes.items()}


Case = Callable[[stages.Stage, float], Outcome]
CASES: dict[str, Case] = {
    'share': share, 'cap': cap, 'company': company, 'overfull': overfull,
    'guarantee': guarantee, 'reclaim': reclaim, 're-use': again,
    'resize': resize, 'release': release, 'migration': migration,
    'shorter period': shorter, 'small runtime': small,
}


def run(name: str, stage: stages.Stage, tolerance: float) -> Outcome:
    """Runs one case, clears the stage, and returns the outcome.

    An error of the kernel is the outcome of the case.
    """
    if name in stage.skipped:
        return Outcome(name, Level.SKIPPED, stage.skipped[name])
    act = functools.partial(CASES[name], stage, tolerance)
    try:
        result = act()
    except (exception.KernelError, OSError) as error:
        result = Outcome(name, Level.BROKEN, f'the kernel refused: {error}')
    try:
        stage.clear()
    except (exception.KernelError, OSError) as error:
        return Outcome(name, Level.BROKEN,
                       f'{result.observed}; then its groups and processes '
                       f'could not be removed: {error}')
    return result
