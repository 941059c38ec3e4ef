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
        return (FILE,) if group.parent is None else (FILE, LOCAL)

    def show_local(self, group: Group) -> str:
        return ''.join(self._lines(group))

    def _lines(self, group: Group) -> Iterator[str]:
        for cpu, (runtime, period) in enumerate(
                scalars.budget_of(group).pairs()):
            if runtime == MAX:
                yield f'{cpu} runtime=max period={period}\n'
                continue
            rest = share(runtime, period) - sum(
                share(*_on(child, cpu)) for child in rt_max.nearest(group))
            yield f'{cpu} runtime={round(rest * period)} period={period}\n'

    def placed(self, group: Group, runtime: int, period: int) -> Budget:
        if runtime == MAX or group.parent is None:
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
        below = list(rt_max.nearest(group, changed, new))
        for cpu in range(self.columns):
            total = sum(share(*_on(child, cpu, changed, new))
                        for child in below)
            if total > share(own.runtimes[cpu], own.periods[cpu]):
                raise numbers.refusal(errno.EINVAL, path)

    def admit_cpus(self, group: Group, path: str) -> None:
        if any(rt_max.is_configured(each) for each in group.walk()):
            raise numbers.refusal(errno.EINVAL, path)


def share(runtime: int, period: int) -> fractions.Fraction:
    """Returns the exact share, unlike the ratios of older kernels."""
    return fractions.Fraction(runtime, period or 1)


def _on(group: Group, cpu: int, changed: Group | None = None,
        new: Budget | None = None) -> tuple[int, int]:
    budget = rt_max.after(group, changed, new)
    return budget.runtimes[cpu], budget.periods[cpu]
