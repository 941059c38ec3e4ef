# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F2m: HCBS with a runtime for each CPU."""

from collections.abc import Iterator
import errno

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import hcbs
from tests.emulation import numbers
from tests.emulation import scalars

RUNTIME = scalars.RUNTIME
PERIOD = scalars.PERIOD
MULTI = 'cpu.rt_multi_runtime_us'

_MAX_PERIOD_US = (1 << 63) // 1000


class Kernel(scalars.LeafKernel):
    """A write with several values stops at the first refused value."""

    per_cpu = True

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 version: int = 1, refuses_zero: bool = False) -> None:
        """Boots the kernel.

        :param refuses_zero: like old kernels, refuse a 0 in the multi file
        """
        super().__init__(cpus, clock, version)
        self.late_seconds = 0.015 if version == 1 else 0.020
        self._refuses_zero = refuses_zero

    def new_budget(self) -> groups.Budget:
        return groups.Budget.even(self.columns, 0, self.sysctl[1])

    def rt_files(self, group: groups.Group) -> tuple[str, ...]:
        return RUNTIME, PERIOD, MULTI

    def show_rt(self, group: groups.Group, name: str) -> str:
        budget = scalars.budget_of(group)
        if name == MULTI:
            return ''.join(f'{each} ' for each in budget.runtimes) + '\n'
        if name == RUNTIME:
            return f'{sum(budget.runtimes) // self.columns}\n'
        return f'{budget.periods[0]}\n'

    def write_rt(self, group: groups.Group, name: str, data: str, path: str
                 ) -> int | None:
        if name == PERIOD:
            return super().write_rt(group, name, data, path)
        if name == MULTI:
            steps = list(self._steps(data, path))
            if self._refuses_zero and any(step[1] == 0 for step in steps):
                raise numbers.refusal(errno.EINVAL, path)
        else:
            value = numbers.signed(data, path)
            steps = [(cpu, value) for cpu in range(self.cpus)]
        for cpu, value in steps:
            self._set_one(group, cpu, value, path)
        return None

    def _steps(self, data: str, path: str) -> Iterator[tuple[int, int]]:
        """Yields (CPU, runtime) of pairs "<cpulist> <runtime>"."""
        words = data.split()
        if not words or len(words) % 2:
            raise numbers.refusal(errno.EINVAL, path)
        for cpus, value in zip(words[::2], words[1::2], strict=True):
            chosen = numbers.cpu_set(cpus, path)
            if not chosen or not chosen <= set(range(self.cpus)):
                raise numbers.refusal(errno.EINVAL, path)
            runtime = numbers.signed(value, path)
            for cpu in sorted(chosen):
                yield cpu, runtime

    def _set_one(self, group: groups.Group, cpu: int, value: int, path: str
                 ) -> None:
        if group.parent is None and value == 0:
            self.die('0 was written to the root group')
        if value > scalars.MAX_RUNTIME_US:
            raise numbers.refusal(errno.EINVAL, path)
        old = scalars.budget_of(group)
        runtimes = list(old.runtimes)
        runtimes[cpu] = max(value, -1)
        # This is the test of the file itself, before any admission.
        if value == 0 and self.has_real_time(group):
            raise numbers.refusal(errno.EINVAL, path)
        self.set_budget(group, old.with_runtimes(runtimes), path)

    def set_budget(self, group: groups.Group, new: groups.Budget, path: str
                   ) -> int | None:
        if any(hcbs.is_no_server(*pair) for pair in new.pairs()):
            raise numbers.refusal(errno.EINVAL, path)
        return super().set_budget(group, new, path)
