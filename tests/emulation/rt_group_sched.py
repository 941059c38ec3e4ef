# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F1: RT_GROUP_SCHED on cgroup v1.

The rules are those of ``kernel/sched/rt.c`` as they were measured on a real
kernel; ``tests/functional/kernel/test_differential.py`` compares the two.
Beside the ``cpu`` hierarchy there is a ``cpuset`` hierarchy; both have the
lists of tasks that production code reads.
"""

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import paths
from tests.emulation import scalars

RUNTIME = scalars.RUNTIME
PERIOD = scalars.PERIOD
CPUS = paths.CPUS
TASKS = paths.TASKS
SYSCTL_RUNTIME = paths.SYSCTL_RUNTIME
SYSCTL_PERIOD = paths.SYSCTL_PERIOD
POSSIBLE = paths.POSSIBLE
CPU_MOUNT = paths.CPU_MOUNT
CPUSET_MOUNT = paths.CPUSET_MOUNT
REAL_TIME = groups.REAL_TIME

Task = groups.Task
Group = groups.Group
ratio = groups.ratio


class Kernel(scalars.Kernel):
    """A kernel that survives everything that kills an HCBS kernel."""

    fragile = False

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None
                 ) -> None:
        super().__init__(cpus, clock)

    def exit(self, thread: int) -> None:
        task = self.tasks.get(thread)
        if task is not None and task.ending is not None and not any(
                scalars.budget_of(task.ending).runtimes):
            return  # throttled for ever: it stays in the run queue
        super().exit(thread)

    def snapshot(self) -> dict[str, tuple[int, int]]:  # type: ignore[override]
        """Returns (runtime, period) of all groups: both are single values."""
        return {name: (runtimes[0], period) for name, (runtimes, period)
                in self.budgets().items()}
