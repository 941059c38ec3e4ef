# SPDX-License-Identifier: Apache-2.0

"""Kernels with cpu.rt_runtime_us and cpu.rt_period_us, and their admission.

Each write of either file is admitted alone, on the whole tree.
"""

import errno

from tests.emulation import groups
from tests.emulation import kernel
from tests.emulation import numbers
from tests.emulation import paths

Budget = groups.Budget
Group = groups.Group

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'

DEFAULT_PERIOD_US = 1_000_000
MAX_RUNTIME_US = ((1 << 44) - 1) // 1000
MAX_PERIOD_US = ((1 << 64) - 1) // 1000


class Kernel(kernel.Kernel):
    """The rules of F1 to F3, with hooks for their differences."""

    def root_budget(self) -> Budget:
        return Budget.even(self.columns, 950_000, DEFAULT_PERIOD_US)

    def new_budget(self) -> Budget:
        return Budget.even(self.columns, 0, DEFAULT_PERIOD_US)

    def rt_files(self, group: Group) -> tuple[str, ...]:
        return RUNTIME, PERIOD

    def show_rt(self, group: Group, name: str) -> str:
        budget = budget_of(group)
        values = budget.runtimes if name == RUNTIME else budget.periods
        return f'{values[0]}\n'

    def write_rt(self, group: Group, name: str, data: str, path: str
                 ) -> int | None:
        old = budget_of(group)
        if name == RUNTIME:
            runtime = self.runtime_in(data, group, path)
            new = old.with_runtimes([runtime] * self.columns)
        else:
            period = self.period_in(data, path)
            new = old.with_periods([period] * self.columns)
        return self.set_budget(group, new, path)

    def runtime_in(self, data: str, group: Group, path: str) -> int:
        """Returns the runtime that was written, before any admission."""
        value = numbers.signed(data, path)
        if value > MAX_RUNTIME_US or (value == 0 and group.parent is None):
            raise numbers.refusal(errno.EINVAL, path)
        return max(value, -1)

    def period_in(self, data: str, path: str) -> int:
        """Returns the period that was written."""
        value = numbers.unsigned(data, path)
        if value == 0 or value > MAX_PERIOD_US:
            raise numbers.refusal(errno.EINVAL, path)
        return value

    def set_budget(self, group: Group, new: Budget, path: str
                   ) -> int | None:
        """Admits and stores; returns a count after a short write."""
        self.check_tree(group, new, path)
        self.apply(group, new)
        return None

    # The places where real-time tasks may be.

    def admit_attach(self, task: groups.Task, group: Group, path: str
                     ) -> None:
        if not budget_of(group).has_runtime:
            raise numbers.refusal(errno.EINVAL, path)

    def admit_policy(self, task: groups.Task, group: Group) -> None:
        if not budget_of(self.cpu_group(group)).has_runtime:
            raise numbers.refusal(errno.EPERM, str(task.thread))

    # Admission.

    def admit_sysctl(self, runtime: int, period: int) -> None:
        if runtime == 0:
            raise numbers.refusal(errno.EBUSY, paths.SYSCTL_RUNTIME)
        before, self.sysctl = self.sysctl, (runtime, period)
        try:
            self.check_tree(None, None, paths.SYSCTL_RUNTIME)
        finally:
            self.sysctl = before

    def check_tree(self, changed: Group | None, new: Budget | None,
                   path: str) -> None:
        """Does tg_rt_schedulable() from the root down, before the change."""
        self.bury()
        stack = [self._root_group()]
        while stack:
            group = stack.pop()
            budget = (new if new is not None and group is changed
                      else budget_of(group))
            below = [child for child in group.children
                     if child.budget is not None]
            self.check_group(group, budget, path)
            self.check_ratios(group, budget, [
                new if new is not None and child is changed
                else budget_of(child) for child in below], path)
            stack.extend(below)

    def check_group(self, group: Group, budget: Budget, path: str) -> None:
        """Checks the rules on one group, without its children."""
        if any(runtime > period for runtime, period in budget.pairs()):
            raise numbers.refusal(errno.EINVAL, path)
        if (not budget.has_runtime and budget_of(group).has_runtime
                and self.sysctl[0] >= 0 and self.has_real_time(group)):
            raise numbers.refusal(self.zero_errno(path), path)

    def zero_errno(self, path: str) -> int:
        """Returns the errno of zeroing a group with real-time tasks."""
        return errno.EBUSY

    def check_ratios(self, group: Group, budget: Budget,
                     below: list[Budget], path: str) -> None:
        """Checks in each column that children fit group and sysctls."""
        totals = [0] * self.columns
        for child in below:
            totals = [total + part for total, part
                      in zip(totals, child.ratios(), strict=True)]
        for own, total in zip(budget.ratios(), totals, strict=True):
            if own > self.limit() or total > own:
                raise numbers.refusal(errno.EINVAL, path)
        if group.parent is None:
            self.check_pool(max(budget.ratios()), path)

    def check_pool(self, share: int, path: str) -> None:
        """Checks that the deadline pool has *share* of each CPU left."""


class LeafKernel(Kernel):
    """HCBS, which allows real-time tasks only in leaves."""

    def set_budget(self, group: Group, new: Budget, path: str
                   ) -> int | None:
        self.check_leaf(group, new, path)
        return super().set_budget(group, new, path)

    def check_leaf(self, group: Group, new: Budget, path: str) -> None:
        """Does the first test: no real-time task may be above a budget."""
        above = group.parent
        if (new.has_runtime and above is not None and above.parent is not None
                and self.has_real_time(above)):
            raise numbers.refusal(errno.EINVAL, path)

    def admit_attach(self, task: groups.Task, group: Group, path: str
                     ) -> None:
        if group.parent is not None and not self.is_live(group):
            raise numbers.refusal(errno.EINVAL, path)

    def admit_policy(self, task: groups.Task, group: Group) -> None:
        nearest = self.cpu_group(group)
        if nearest.parent is not None and not self.is_live(nearest):
            raise numbers.refusal(errno.EPERM, str(task.thread))

    @staticmethod
    def is_live(group: Group) -> bool:
        """Returns whether its real-time tasks would run."""
        return budget_of(group).has_runtime and not hands_out(group)


def hands_out(group: Group) -> bool:
    """Returns whether any child has a budget."""
    return any(child.budget is not None and child.budget.has_runtime
               for child in group.alive)


def budget_of(group: Group) -> Budget:
    """Returns the budget of a group, which must have one."""
    assert group.budget is not None
    return group.budget
