# SPDX-License-Identifier: Apache-2.0

"""Orders the writes in a tree of groups, for all interfaces alike.

After each single write, a child must fit its parent.  After the last write, a
parent must hold exactly the sum of its children, so that no guest can take
unused bandwidth.  Therefore parents grow first, from the top down, and shrink
last, from the bottom up.

The kernel admits by *lanes*: a replicated interface has one lane for all
CPUs, and any other interface has one lane for each possible CPU.
"""

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import dataclasses
import errno
import functools
import posixpath
import time

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import refusals
from nova_rt.machine.kernel import sysctl
from nova_rt.machine.kernel import throttle
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import words

#: The period of parents.  No order of writes can change the period of a group
#: with children safely.  With this period the runtime in us equals the
#: bandwidth in ppm.
PARENT_PERIOD_US = reservation.PPM

#: How long to retry a write for which the kernel has no room, in seconds.  A
#: removed group gives its budget back some 20 ms later (RCU), and more than
#: 200 ms later on a host under heavy load.  While the kernel reports that it
#: still counts a removed group, tasks of this group may have yet to end, and
#: the write is retried for longer.
_PATIENCE_SECONDS = {False: 0.4, True: 10.0}
_RETRY_SECONDS = 0.02
_SECOND_US = 1_000_000
#: After this time, each parent has begun a new period.
_PARENT_SECONDS = PARENT_PERIOD_US / _SECOND_US + throttle.MARGIN_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class _Level:
    """A parent and the runtimes it must hold.

    :ivar slack: what the parent and the groups below it hold beyond their
        children, because the kernel may still count removed groups
    """

    path: str
    old: base.Lanes
    new: base.Lanes
    slack: base.Lanes

    @property
    def peak(self) -> base.Lanes:
        """The runtimes while some leaves still have old budgets."""
        return tuple(map(max, self.old, self.new))

    @property
    def wide(self) -> base.Lanes:
        """The runtimes of *peak*, plus room for removed groups."""
        return _add(self.peak, self.slack)


class TreeInterface(base.KernelInterface):
    """The parts that all interfaces have in common; see KernelInterface."""

    max_period_us = reservation.MAX_PERIOD_US

    def group_state(self, group: str) -> base.GroupState:
        return self._get(self._path(group))

    # The following methods differ between interfaces.

    @abc.abstractmethod
    def _get(self, path: str) -> base.GroupState:
        """Returns what a group holds; all 0 for a group without a budget."""

    @abc.abstractmethod
    def _put(self, journal: rt_journal.Journal, path: str,
             state: base.GroupState) -> None:
        """Makes a group hold *state*, by steps that the kernel admits."""

    def _clear(self, journal: rt_journal.Journal, path: str) -> None:
        """Takes the budget of a leaf."""
        self._put(journal, path, self._get(path).none)

    def _counted(self, path: str) -> base.GroupState:
        """Returns the ppm that the kernel counts for a group."""
        return self._get(path)

    def _expected(self, path: str, state: base.GroupState) -> base.Lanes:
        """Returns the ppm that the kernel counts for a leaf with *state*."""
        return state.ppm

    def _parents(self, path: str) -> list[str]:
        """Returns the groups whose budgets include *path*'s, top down."""
        parts = path[len(self._root):].strip('/').split('/')[:-1]
        return [posixpath.join(self._root, *parts[:depth + 1])
                for depth in range(len(parts))]

    def _below(self, path: str) -> list[str]:
        """Returns the groups whose budgets are parts of *path*'s budget."""
        return self._fs.children(path)

    def _parent_lanes(self, path: str, total: base.Lanes) -> base.Lanes:
        """Returns what a parent holds for the *total* of its children."""
        return tuple(max(lane, self.min_runtime_us) if lane else 0
                     for lane in total)

    # The following methods are those of KernelInterface.

    def prepare(self, ppm: int) -> None:
        """Does nothing: the root of these kernels starts with 95 %."""

    def capacity(self, ours: str) -> base.Capacity:
        with self._explained(self._root):
            sysctl.check(self._fs)
            top = self._path(ours.strip('/').split('/')[0])
            others = {child: self._ppm(child) for child
                      in self._below(self._root) if child != top}
            free = map(int.__sub__, self._limits(),
                       self._sum(others.values()))
            return base.Capacity(
                max(0, min(free)), self._tick_us(),
                min_runtime_us=self.least_runtime_us(),
                others=tuple(sorted(child.removeprefix(self._root) for child
                                    in others if any(others[child]))))

    def least_runtime_us(self) -> int:
        """Returns the shortest runtime that a group of guests may have now."""
        return self.min_runtime_us

    def reserve(self, budgets: Mapping[str, base.Budget]) -> None:
        for group, budget in budgets.items():
            self._check(group, budget)
        leaves = {self._path(group): self._group_state(budget)
                  for group, budget in budgets.items()}
        with self._changing(leaves) as journal:
            self._set(journal, leaves)

    def read(self, group: str) -> base.Budget | None:
        with self._explained(group):
            try:
                state = self._get(self._path(group))
            except OSError as error:
                if cgroup.is_gone(error):
                    return None
                raise
            return self._budget(state)

    def release(self, groups: Sequence[str]) -> None:
        leaves = [self._path(group) for group in groups]
        self._outlast_ends(leaves)
        with self._changing(leaves, time.monotonic()) as journal:
            for path in leaves:
                with _tolerate_gone():
                    self._clear(journal, path)
            self._settle(journal, {parent for path in leaves
                                   for parent in self._parents(path)})

    def settle(self, group: str) -> None:
        path = self._path(group)
        with self._changing([]) as journal:
            self._settle(journal, {*self._parents(path), path})

    # The following methods write in the order that the kernel admits.

    def _set(self, journal: rt_journal.Journal,
             leaves: Mapping[str, base.GroupState]) -> None:
        levels = self._levels(leaves)
        removed = any(any(level.slack) for level in levels)
        try:
            self._raise(journal, {level.path: level.peak for level in levels},
                        leaves)
        except OSError as error:
            if not removed or not _has_no_room(error):
                raise
            self._raise(journal, {level.path: level.wide for level in levels},
                        leaves)
        try:
            self._settle(journal, [level.path for level in levels])
        except OSError as error:
            if not removed or not _has_no_room(error):
                raise  # Otherwise the next settle() succeeds.

    def _raise(self, journal: rt_journal.Journal,
               parents: Mapping[str, base.Lanes],
               leaves: Mapping[str, base.GroupState]) -> None:
        for path, runtimes in parents.items():
            # Top down: a child must fit its parent.
            self._put_parent(journal, path, runtimes)
        for path in sorted(leaves, key=lambda leaf: self._growth(
                leaf, leaves[leaf])):
            self._put_patiently(journal, path, leaves[path])

    def _levels(self, leaves: Mapping[str, base.GroupState]) -> list[_Level]:
        """Returns the parents of the future *leaves*, top down."""
        lanes = {path: self._expected(path, leaf)
                 for path, leaf in leaves.items()}
        parents = {parent for path in leaves
                   for parent in self._parents(path)}
        slack: dict[str, base.Lanes] = {}
        ppm = functools.cache(self._ppm)  # each group is read once
        levels = []
        for path in sorted(parents, key=_depth, reverse=True):
            now = self._below(path)
            below = {*now, *(leaf for leaf in leaves
                             if self._parents(leaf)[-1] == path)}
            old = self._parent(path)
            total = self._parent_lanes(path, self._sum(map(ppm, now)))
            slack[path] = self._sum([
                tuple(max(0, a - b) for a, b in zip(old, total, strict=True)),
                *(slack[child] for child in below if child in slack)])
            level = _Level(
                path, old, self._parent_lanes(path, self._sum(
                    lanes.get(child) or ppm(child) for child in below)),
                slack[path])
            levels.append(level)
            lanes[path] = level.new
        return levels[::-1]

    def _settle(self, journal: rt_journal.Journal, paths: Iterable[str]
                ) -> None:
        waited = not self.throttles_parents
        for path in sorted(paths, key=_depth, reverse=True):
            with _tolerate_gone():
                old, new = self._parent(path), self._needed(path)
                if not waited and any(map(_shrinks, old, new)):
                    # Guests below have used the old runtimes until now.
                    time.sleep(_PARENT_SECONDS)
                    waited, new = True, self._needed(path)
                if old != new:
                    self._put_parent(journal, path, new)

    def _needed(self, path: str) -> base.Lanes:
        """Returns what a parent must hold for its present children."""
        return self._parent_lanes(path, self._total(self._below(path)))

    def _put_parent(self, journal: rt_journal.Journal, path: str,
                    runtimes: base.Lanes) -> None:
        self._put_patiently(journal, path,
                            base.GroupState(runtimes, PARENT_PERIOD_US))

    def _put_patiently(self, journal: rt_journal.Journal, path: str,
                       state: base.GroupState) -> None:
        """Writes, and retries while a removed group may return its budget."""
        start = time.monotonic()
        while True:
            try:
                return self._put(journal, path, state)
            except OSError as error:
                if not _has_no_room(error) or (
                        time.monotonic() - start >= _PATIENCE_SECONDS[
                            cgroup.counts_removed(self._fs, self._top(path))]):
                    raise
            time.sleep(_RETRY_SECONDS)

    def _top(self, path: str) -> str:
        """Returns the group directly below the root that has *path* in it."""
        return '/'.join(path.split('/')[:_depth(self._root) + 2])

    def _parent(self, path: str) -> base.Lanes:
        state = self._get(path)
        if any(state.runtimes) and state.period_us != PARENT_PERIOD_US:
            raise OSError(
                f'{path} has a period of {state.period_us} us, which somebody '
                f'else must have set; set it to {PARENT_PERIOD_US} us')
        return state.runtimes

    def _growth(self, path: str, state: base.GroupState) -> int:
        return sum(state.ppm) - sum(self._get(path).ppm)

    def _total(self, paths: Iterable[str]) -> base.Lanes:
        return self._sum(map(self._ppm, paths))

    def _sum(self, shares: Iterable[base.Lanes]) -> base.Lanes:
        return functools.reduce(_add, shares, (0,) * len(self._lanes))

    def _ppm(self, path: str) -> base.Lanes:
        """Returns the ppm that are counted for a group; 0 if it is gone."""
        try:
            return self._counted(path).ppm
        except OSError as error:
            if cgroup.is_gone(error):
                return (0,) * len(self._lanes)
            raise

    def _limits(self) -> base.Lanes:
        """Returns the ppm of each lane that the root group may hand out."""
        state = self._get(self._root)
        limit = self._limit()
        return tuple(
            limit if own < 0 else
            min(limit, own * reservation.PPM // max(1, state.period_us))
            for own in state.runtimes)

    def _limit(self) -> int:
        """Returns the ppm that the sysctls allow the root group."""
        return sysctl.limit_ppm(self._fs)

    # The following methods convert budgets.

    @functools.cached_property
    def _cpus(self) -> tuple[int, ...]:
        # os.cpu_count() would not do: the ids of online CPUs may have gaps.
        return cpulist.parse_ids(self._fs.read(cpulist.POSSIBLE))

    @property
    def _lanes(self) -> tuple[int, ...]:
        """The id of a pCPU for each lane."""
        return self._cpus[:1] if self.replicated else self._cpus

    def _group_state(self, budget: base.Budget) -> base.GroupState:
        if self.replicated:
            return base.GroupState((max(budget.runtime_us.values()),),
                                   budget.period_us)
        return base.GroupState(tuple(budget.runtime_us.get(cpu, 0)
                               for cpu in self._cpus), budget.period_us)

    def _budget(self, state: base.GroupState) -> base.Budget | None:
        if not any(state.runtimes):
            return None
        lanes = [state.period_us if runtime < 0 else runtime
                 for runtime in state.runtimes]
        if self.replicated:
            lanes *= len(self._cpus)
        return base.Budget(
            {cpu: runtime for cpu, runtime
             in zip(self._cpus, lanes, strict=True) if runtime},
            state.period_us)

    def _check(self, group: str, budget: base.Budget) -> None:
        """Checks that the kernel would take the budget.

        :raises KernelError: when the kernel would refuse the budget
        """
        runtimes = budget.runtime_us.values()
        rule = ''
        if not self.min_period_us <= budget.period_us <= self.max_period_us:
            rule = (f'a period must be {self.min_period_us} to '
                    f'{self.max_period_us} us')
        elif not runtimes or min(runtimes) < self.least_runtime_us():
            rule = (f'a runtime must be at least {self.least_runtime_us()} '
                    f'us')
        elif max(runtimes) > budget.period_us:
            rule = 'a runtime cannot exceed its period'
        elif not self.replicated and not set(budget.runtime_us) <= set(
                self._cpus):
            rule = f'the host has only {words.ids(self._cpus, "CPU")}'
        if rule:
            raise exception.KernelError(
                interface=self.name, group=group,
                reason=f'the group cannot hold {dict(budget.runtime_us)} us '
                       f'every {budget.period_us} us: {rule}')

    def _path(self, group: str) -> str:
        return posixpath.join(self._root, group.strip('/')).rstrip('/')

    def _tick_us(self) -> int:
        return 0 if ticks.high_resolution(self._fs) else ticks.tick_us()

    # The following methods protect a change.

    @contextlib.contextmanager
    def _changing(self, leaves: Iterable[str], since: float | None = None
                  ) -> Iterator[rt_journal.Journal]:
        """Locks the hierarchy and returns a journal for a change.

        :param since: the time from which *leaves* had no real-time tasks
        :raises KernelError: when the change fails, after it was undone
        """
        paths = list(leaves)
        with (self._explained(paths[0] if paths else self._root),
              self._fs.locked(self._root),
              rt_journal.journal(self._watch(paths, since)) as journal):
            yield journal

    def _watch(self, leaves: Sequence[str], since: float | None
               ) -> rt_journal.Watch:
        """Returns what the journal of a change calls before each write.

        The parameters are those of :meth:`_changing`.
        """
        return lambda cell, old, new: None

    def _outlast_ends(self, leaves: Iterable[str]) -> None:
        """Waits until the tasks that are about to end have ended.

        No list shows these tasks.  Without a budget the task stays in the run
        queue of its group until a reboot.  On cgroup v1 the kernel then keeps
        the group and the bandwidth of the groups above; on cgroup v2 the whole
        host may hang.
        """
        longest = 0
        for path in leaves:
            with self._explained(path), _tolerate_gone():
                if self.controller or cgroup.is_populated(self._fs, path):
                    state = self._get(path)
                    longest = max(longest, throttle.last_steps_us(
                        max(state.runtimes), state.period_us, ticks.tick_us()))
        time.sleep(longest / _SECOND_US)

    @contextlib.contextmanager
    def _explained(self, group: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise exception.KernelError(
                interface=self.name,
                group=group.removeprefix(self._root) or '/',
                reason=refusals.reason(error)) from error


def _add(one: base.Lanes, other: base.Lanes) -> base.Lanes:
    return tuple(map(int.__add__, one, other))


def _shrinks(old: int, new: int) -> bool:
    """Checks whether a parent keeps a part of its runtime only."""
    return 0 < new < old


def _depth(path: str) -> int:
    return path.count('/')


@contextlib.contextmanager
def _tolerate_gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not cgroup.is_gone(error):
            raise


def _has_no_room(error: OSError) -> bool:
    return error.errno == errno.EINVAL and not cgroup.is_short(error)
