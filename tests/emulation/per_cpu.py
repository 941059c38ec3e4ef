# SPDX-License-Identifier: Apache-2.0

"""An imaginary kernel interface that grants a runtime for each CPU.

It stands for the kernels that are not replicated (F2m, F3m, F5), of which
nova_rt has no module yet, to test what is above the interface.
"""

import threading

from nova_rt import exception
from nova_rt.kernel import base
from nova_rt import reservation
from tests.emulation import rt_group_sched

CAP = 950_000


class PerCpu(base.KernelInterface):
    """Refuses what exceeds CAP on any CPU.

    Groups live in an emulated kernel; a budget goes with its group.
    """

    name = 'per_cpu'
    replicated = False
    controller = 'cpu'

    def __init__(self, kernel: rt_group_sched.Kernel) -> None:
        self._kernel = kernel
        self._mutex = threading.Lock()
        self._budgets: dict[str, base.Budget] = {}

    @classmethod
    def detect(cls, fs: base.CgroupFS) -> 'PerCpu | None':
        return cls(fs) if isinstance(fs, rt_group_sched.Kernel) else None

    def capacity(self, ours: str) -> base.Capacity:
        return base.Capacity(CAP, 0)

    def reserve(self, group: str, budget: base.Budget) -> None:
        with self._mutex:
            self._forget()
            after = self._budgets | {group: budget}
            for cpu in range(self._kernel.cpus):
                total = sum(_ppm(each, cpu) for each in after.values())
                if total > CAP:
                    raise exception.KernelError(
                        interface=self.name, group=group,
                        reason=f'{total} ppm on CPU {cpu}')
            self._budgets = after

    def read(self, group: str) -> base.Budget | None:
        with self._mutex:
            self._forget()
            return self._budgets.get(group)

    def release(self, group: str) -> None:
        with self._mutex:
            self._budgets.pop(group, None)

    def settle(self, group: str) -> None:
        with self._mutex:
            self._forget()

    def held(self) -> dict[int, int]:
        """ppm on each CPU."""
        with self._mutex:
            self._forget()
            return {cpu: sum(_ppm(each, cpu)
                             for each in self._budgets.values())
                    for cpu in range(self._kernel.cpus)}

    def _forget(self) -> None:
        alive = self._kernel.snapshot()
        self._budgets = {group: budget for group, budget
                         in self._budgets.items() if group in alive}


def _ppm(budget: base.Budget, cpu: int) -> int:
    runtime = budget.runtime_us.get(cpu, 0)
    return reservation.Reservation(runtime, budget.period_us).bandwidth
