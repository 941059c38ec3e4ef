# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F5: cpu.rt.max tied to cpusets."""

from collections.abc import Iterator
import errno
import fractions

from tests.emulation import cpusets
from tests.emulation import groups
from tests.emulation import numbers
from tests.emulation import rt_max
from tests.emulation import scalars

Budget = groups.Budget
Group = groups.Group

FILE = rt_max.FILE
LOCAL = 'cpu.rt.max.effective.local'
MAX = rt_max.MAX


class Kernel(rt_max.Kernel):
    """Servers are, and count, only on the CPUs of the group."""

    per_cpu = True
    omitted_us = 0

    def rt_files(self, group: Group) -> tuple[str, ...]:
        if group.parent is None:
            return () if self.rootless else (FILE,)
        return FILE, LOCAL

    def show_local(self, group: Group) -> str:
        return ''.join(self._lines(group))

    def _lines(self, group: Group) -> Iterator[str]:
        cpus = cpusets.effective(group)
        for cpu, (runtime, period) in enumerate(
                scalars.budget_of(group).pairs()):
            if runtime == MAX:
                word = 'max' if cpu in cpus else '0'
                yield f'{cpu} runtime={word} period={period}\n'
            else:
                rest = round(rt_max.rest(group, cpu) * period)
                yield f'{cpu} runtime={rest} period={period}\n'

    def starves(self, context: Group, cpus: frozenset[int]) -> bool:
        return any(rt_max.rest(context, cpu) <= 0 for cpu in cpus)

    def placed(self, group: Group, runtime: int, period: int) -> Budget:
        """Returns the budget on the CPUs that the group has now.

        The root group has those that are online.
        """
        if runtime == MAX:
            return Budget.even(self.columns, runtime, period)
        cpus = cpusets.effective(group)
        return Budget(
            tuple(runtime if cpu in cpus else 0
                  for cpu in range(self.columns)),
            (period,) * self.columns)

    def vet_children(self, group: Group, changed: Group, new: Budget,
                     path: str) -> None:
        own = rt_max.after(group, changed, new)
        if own.runtimes[0] == MAX:
            return
        below = [child for child in rt_max.each_below(group)
                 if rt_max.after(child, changed, new).runtimes[0] != MAX
                 and self._context_above(child, changed, new) is group]
        for cpu in range(self.columns):
            total = sum(share(*_on(child, cpu, changed, new))
                        for child in below)
            if total > share(own.runtimes[cpu], own.periods[cpu]):
                raise numbers.refusal(errno.EINVAL, path)

    def _context_above(self, child: Group, changed: Group,
                       new: Budget) -> Group:
        """Returns the context that the kernel sees above a group.

        While a group is being written, the kernel corrects the context of
        its children, and not that of groups further down.
        """
        parent = child.parent
        assert parent is not None
        if parent is changed and new.runtimes[0] != MAX:
            return parent
        if parent is changed and rt_max.is_configured(parent):
            assert parent.parent is not None
            return self.context(parent.parent)
        return self.context(parent)

    def admit_cpus(self, group: Group, path: str) -> None:
        """Refuses while numbers are in the group or below; 0 is a number.

        A group without the controller cpu is part of the nearest group that
        has it: without +cpu in the root group, of the root group, which
        always has numbers.
        """
        if rt_max.is_configured(self.cpu_group(group)) or any(
                rt_max.is_configured(each) for each in group.walk()):
            raise numbers.refusal(errno.EINVAL, path)

    # Controls.

    def offline(self, cpu: int) -> None:
        """Takes an idle CPU offline: cpusets leave it, servers stay on it."""
        with self.guard:
            self._root_group().cpus -= {cpu}

    def online(self, cpu: int) -> None:
        """Brings a CPU back; servers stay where they are."""
        with self.guard:
            self._root_group().cpus |= {cpu}


def share(runtime: int, period: int) -> fractions.Fraction:
    """Returns the exact share, unlike the ratios of older kernels."""
    return fractions.Fraction(runtime, period or 1)


def _on(group: Group, cpu: int, changed: Group | None = None,
        new: Budget | None = None) -> tuple[int, int]:
    budget = rt_max.after(group, changed, new)
    return budget.runtimes[cpu], budget.periods[cpu]
