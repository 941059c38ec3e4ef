# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F2: the original HCBS patches.

The rules were observed on a 5.10 kernel, with cgroup v1 and v2.
"""

import errno

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import numbers
from tests.emulation import paths
from tests.emulation import scalars

RUNTIME = scalars.RUNTIME
PERIOD = scalars.PERIOD

#: The count that write(2) returns for values that no server can have.
CUT = 1
_MIN_RUNTIME_NS = 1024
_MAX_NS = 1 << 63


class Kernel(scalars.LeafKernel):
    """Refuses some values by a short write, which must not be resent."""

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 version: int = 1) -> None:
        super().__init__(cpus, clock, version)
        self.late_seconds = 0.015 if version == 1 else 0.020
        self._pool_limit: int | None = None

    def new_budget(self) -> groups.Budget:
        return groups.Budget.even(self.columns, 0, self.sysctl[1])

    def is_real_time(self, task: groups.Task) -> bool:
        return task.policy in (*groups.REAL_TIME, groups.DEADLINE)

    def set_budget(self, group: groups.Group, new: groups.Budget, path: str
                   ) -> int | None:
        self.check_leaf(group, new, path)
        if any(is_no_server(*pair) for pair in new.pairs()):
            return CUT
        return super().set_budget(group, new, path)

    def admit_policy(self, task: groups.Task, group: groups.Group) -> None:
        # The patch has a hole: a task that is not real-time yet may enter a
        # group that is not a leaf.
        nearest = self.cpu_group(group)
        if nearest.parent is None or self.is_live(nearest):
            return
        if (self.is_real_time(task)
                or not scalars.budget_of(nearest).has_runtime):
            self.hung = self.hung or task.policy == groups.DEADLINE
            raise numbers.refusal(errno.EPERM, str(task.thread))

    def admit_sysctl(self, runtime: int, period: int) -> None:
        path = paths.SYSCTL_RUNTIME
        if runtime == 0:
            full = self.rt_share() >= self.limit()
            raise numbers.refusal(errno.EINVAL if full else errno.EBUSY, path)
        # The pool is compared with the limit of before the write.
        self._pool_limit = self.pool()
        try:
            super().admit_sysctl(runtime, period)
        finally:
            self._pool_limit = None

    def check_pool(self, share: int, path: str) -> None:
        room = self.pool() if self._pool_limit is None else self._pool_limit
        if self.deadline_used() + share * self.cpus > room:
            raise numbers.refusal(errno.EBUSY, path)


def is_no_server(runtime: int, period: int) -> bool:
    """Returns whether a deadline server cannot have these us."""
    return (runtime > period or 0 < runtime * 1000 < _MIN_RUNTIME_NS
            or period * 1000 >= _MAX_NS)
