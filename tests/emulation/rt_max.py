# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F4: HCBS RFC v6, cpu.rt.max."""

from collections.abc import Iterator
import errno
import fractions
import re

from tests.emulation import clock as virtual
from tests.emulation import cpusets
from tests.emulation import groups
from tests.emulation import hcbs
from tests.emulation import hcbs_rfc
from tests.emulation import kernel
from tests.emulation import numbers
from tests.emulation import paths
from tests.emulation import scalars

Budget = groups.Budget
Group = groups.Group

FILE = 'cpu.rt.max'
INTERNAL = 'cpu.rt.internal'
#: How a budget stores the word.
MAX = -1
PPM = 1_000_000

#: sscanf("%20s %llu"), and "%llu" of the first
_WORDS = re.compile(r'\s*(\S{1,20})(?:\s*([0-9]+))?', re.ASCII)
_DIGITS = re.compile(r'[0-9]+', re.ASCII)
_U64 = (1 << 64) - 1
#: A value that happens to be on the kernel's stack.
_GARBAGE_US = 0x5AA5_5AA5_5AA5


class Kernel(kernel.Kernel):
    """A group is ``max``, and runs within an ancestor, or has numbers.

    The timer of a server ends with its runtime, so no write kills the kernel.

    :ivar rootless: whether the root group has no file, as the maintainer of
        control groups asks for; all that the servers of other classes leave
        is then handed out from the boot on
    """

    fragile = False
    #: the period of a write that names no period
    omitted_us = _GARBAGE_US

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 sysctl: tuple[int, int] = (1_000_000, 1_000_000),
                 servers_ppm: int = hcbs_rfc.SERVERS_PPM,
                 rootless: bool = False) -> None:
        self.rootless = rootless
        super().__init__(cpus, clock, 2, sysctl, servers_ppm)
        self.late_seconds = 0.020

    def root_budget(self) -> Budget:
        runtime = 0
        if self.rootless:
            runtime, period = self.sysctl
            runtime = runtime * PPM // period - self.servers_ppm
        return Budget.even(self.columns, runtime, PPM)

    def new_budget(self) -> Budget:
        return Budget.even(self.columns, MAX, 0)

    def rt_files(self, group: Group) -> tuple[str, ...]:
        if group.parent is None:
            return () if self.rootless else (FILE,)
        return FILE, INTERNAL

    def real(self, pair: tuple[int, int]) -> tuple[int, int]:
        return (0, 0) if pair[0] == MAX else pair

    def show_rt(self, group: Group, name: str) -> str:
        if name == FILE:
            budget = scalars.budget_of(group)
            runtime = max(budget.runtimes)
            return f'{_word(runtime)} {budget.periods[0]}\n'
        return self.show_local(group)

    def show_local(self, group: Group) -> str:
        """Shows what its own tasks may use, truncated to 20 bits."""
        return f'{group.local_us} {scalars.budget_of(group).periods[0]}\n'

    def apply(self, group: Group, budget: Budget) -> None:
        if max(budget.runtimes) <= 0 and any(
                task.ending is group and self.is_real_time(task)
                for task in self.tasks.values()):
            self.die(f'{group.name} lost its runtime while a task had yet to '
                     f'end, which never runs again and holds up RCU')
        rest = self._left(group, group, budget)
        super().apply(group, budget)
        group.local_us = rest
        if group.parent is not None:
            above = self.context(group.parent)
            above.local_us = self._left(above)

    def _left(self, group: Group, changed: Group | None = None,
              new: Budget | None = None) -> int:
        own = next(after(group, changed, new).pairs())
        if own[0] == MAX:
            return 0
        rest = groups.ratio(*own) - self._below(group, changed, new)
        return max(0, rest) * own[1] >> 20

    def _below(self, group: Group, changed: Group | None,
               new: Budget | None) -> int:
        """Returns the sum of the budgets within a group before the change.

        A group that gets numbers is not yet the context of its children, so
        they are not compared with the group, which is a hole in v6.
        """
        total = 0
        for child in each_below(group):
            pair = next(after(child, changed, new).pairs())
            assert child.parent is not None
            if pair[0] != MAX and self.context(child.parent) is group:
                total += groups.ratio(*pair)
        return total

    # The places where real-time tasks may be.

    def context(self, group: Group) -> Group:
        return next(each for each in self.cpu_group(group).up()
                    if is_configured(each))

    def admit_new(self, task: groups.Task, fresh: Budget, path: str) -> None:
        """Admits the group, because its new group runs within the old one."""

    def admit_attach(self, task: groups.Task, group: Group, path: str
                     ) -> None:
        if not self._runs_in(group):
            raise numbers.refusal(errno.EINVAL, path)

    def admit_policy(self, task: groups.Task, group: Group) -> None:
        if not self._runs_in(group):
            raise numbers.refusal(errno.EPERM, str(task.thread))

    def _runs_in(self, group: Group) -> bool:
        context = self.context(group)
        return context.parent is None or scalars.budget_of(context).has_runtime

    def trapped(self) -> list[int]:
        """Returns the real-time tasks that wait where nothing ever runs.

        The group takes a task as long as its context has a runtime on any
        CPU.  A server of runtime 0 never gives a task away.
        """
        with self.guard:
            return [thread for thread, task in sorted(self.tasks.items())
                    if task.ending is None and self.is_real_time(task)
                    and self._waits_for_ever(task)]

    def _waits_for_ever(self, task: groups.Task) -> bool:
        context = self.context(self.group_of(task))
        return context.parent is not None and self.starves(
            context, self.allowed(task))

    def allowed(self, task: groups.Task) -> frozenset[int]:
        """Returns the CPUs on which a task may run."""
        cpus = cpusets.effective(self.group_of(task))
        return cpus & (task.affinity or cpus) or cpus

    def starves(self, context: Group, cpus: frozenset[int]) -> bool:
        """Returns whether a context has no runtime left for its own tasks."""
        return rest(context, 0) <= 0

    def exit(self, thread: int) -> None:
        """Ends a thread, unless it would have to run for that."""
        if thread not in self.trapped():
            super().exit(thread)

    def within(self, group: Group) -> Iterator[Group]:
        """Yields a group and its descendants with only ``max`` in between."""
        yield group
        for child in group.alive:
            if child.budget is None or not is_configured(child):
                yield from self.within(child)

    # Admission, in the order of the kernel's tests.

    def write_rt(self, group: Group, name: str, data: str, path: str
                 ) -> int | None:
        if name != FILE:
            raise numbers.refusal(errno.EACCES, path)
        runtime, period = self._parse(data, path)
        if runtime == MAX:
            if group.parent is None:
                raise numbers.refusal(errno.EINVAL, path)
        elif hcbs.is_no_server(runtime, period) or (
                not hcbs_rfc.is_in_range(runtime, period)):
            raise numbers.refusal(errno.EINVAL, path)
        self._vet_tasks(group, runtime, path)
        new = self.placed(group, runtime, period)
        self._vet_limits(group, new, path)
        self.bury()
        for each in self._root_group().walk():
            if each.budget is not None:
                self.vet_children(each, group, new, path)
        self.apply(group, new)
        return None

    def _parse(self, data: str, path: str) -> tuple[int, int]:
        match = _WORDS.match(data)
        if match is None:
            raise numbers.refusal(errno.EINVAL, path)
        period = (self.omitted_us if match[2] is None
                  else min(int(match[2]), _U64))
        digits = _DIGITS.match(match[1])
        if digits is None and match[1] != 'max':
            raise numbers.refusal(errno.EINVAL, path)
        runtime = min(int(digits[0]), _U64) if digits else _U64
        if runtime == _U64:
            return MAX, period
        if runtime > scalars.MAX_RUNTIME_US or (
                period > scalars.MAX_PERIOD_US):
            raise numbers.refusal(errno.EINVAL, path)
        return runtime, period

    def _vet_tasks(self, group: Group, runtime: int, path: str) -> None:
        if group.parent is None or not any(
                map(self.has_real_time, self.within(group))):
            return
        if is_configured(group) != (runtime != MAX):
            raise numbers.refusal(errno.EINVAL, path)
        if runtime == 0:
            raise numbers.refusal(errno.EBUSY, path)

    def placed(self, group: Group, runtime: int, period: int) -> Budget:
        """Returns the budget with its servers where they would be."""
        return Budget.even(self.columns, runtime, period)

    def _vet_limits(self, group: Group, new: Budget, path: str) -> None:
        if new.runtimes[0] == MAX:
            return
        share = max(new.ratios())
        if share > self.limit():
            raise numbers.refusal(errno.EINVAL, path)
        used = self.deadline_used() + share * self.cpus
        if group.parent is None and used > self.pool():
            raise numbers.refusal(errno.EBUSY, path)

    def vet_children(self, group: Group, changed: Group, new: Budget,
                     path: str) -> None:
        """Checks that the nearest configured descendants fit a group."""
        own = after(group, changed, new)
        if own.runtimes[0] == MAX:
            return
        if self._below(group, changed, new) > own.ratios()[0]:
            raise numbers.refusal(errno.EINVAL, path)

    def admit_sysctl(self, runtime: int, period: int) -> None:
        path = paths.SYSCTL_RUNTIME
        if runtime == 0:
            raise numbers.refusal(errno.EBUSY, path)
        if self.rt_share() > groups.ratio(runtime, period):
            raise numbers.refusal(errno.EINVAL, path)


def is_configured(group: Group) -> bool:
    """Returns whether a group has numbers; the root always has."""
    return group.budget is not None and group.budget.runtimes[0] != MAX


def after(group: Group, changed: Group | None, new: Budget | None
          ) -> Budget:
    """Returns a group's budget once *changed* has *new*."""
    if new is not None and group is changed:
        return new
    return scalars.budget_of(group)


def each_below(group: Group) -> Iterator[Group]:
    """Yields descendants with a budget, including removed ones."""
    for child in group.children:
        if child.budget is not None:
            yield child
            yield from each_below(child)


def nearest(group: Group, changed: Group | None = None,
            new: Budget | None = None) -> Iterator[Group]:
    """Yields the nearest descendants with numbers, including removed ones."""
    for child in group.children:
        if child.budget is None:
            continue
        if after(child, changed, new).runtimes[0] == MAX:
            yield from nearest(child, changed, new)
        else:
            yield child


def rest(group: Group, column: int) -> fractions.Fraction:
    """Returns the exact share that the groups below a group leave."""
    return share(group, column) - sum(
        share(child, column) for child in nearest(group))


def share(group: Group, column: int) -> fractions.Fraction:
    """Returns the exact share of a group with numbers."""
    budget = scalars.budget_of(group)
    return fractions.Fraction(budget.runtimes[column],
                              budget.periods[column] or 1)


def _word(runtime: int) -> str:
    return 'max' if runtime == MAX else str(runtime)
