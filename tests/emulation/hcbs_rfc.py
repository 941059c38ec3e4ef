# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F3: HCBS RFC v1 to v5, on cgroup v2."""

import errno

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import hcbs
from tests.emulation import numbers
from tests.emulation import scalars

RUNTIME = scalars.RUNTIME
PERIOD = scalars.PERIOD

#: sched_deadline_period_{min,max}_us
MIN_PERIOD_US = 100
MAX_PERIOD_US = 4_194_304
#: The bandwidth that the fair server holds of each CPU.
SERVERS_PPM = 50_000

_DEFAULT = (950_000, 1_000_000)


class Kernel(scalars.LeafKernel):
    """Groups start with nothing, not even a period."""

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 revision: int = 5, root: tuple[int, int] | None = None,
                 servers_ppm: int = SERVERS_PPM) -> None:
        """Boots the kernel.

        :param revision: the version of the posting, 1 to 5
        :param root: (runtime, period) of the root group after boot; by
            default that of the revision
        """
        self.revision = revision
        self._boot = root or ((0, 0) if revision >= 4 else _DEFAULT)
        sysctl = (1_000_000, 1_000_000) if revision >= 5 else _DEFAULT
        super().__init__(cpus, clock, 2, sysctl, servers_ppm)
        self.late_seconds = 0.020

    def root_budget(self) -> groups.Budget:
        return groups.Budget.even(self.columns, *self._boot)

    def new_budget(self) -> groups.Budget:
        return groups.Budget.even(self.columns, 0, 0)

    def runtime_in(self, data: str, group: groups.Group, path: str) -> int:
        value = numbers.signed(data, path)
        no_zero = group.parent is None and self.revision < 4
        if not no_zero <= value <= scalars.MAX_RUNTIME_US:
            raise numbers.refusal(errno.EINVAL, path)
        return value

    def period_in(self, data: str, path: str) -> int:
        """Returns the period that was written."""
        value = numbers.unsigned(data, path)
        if value > scalars.MAX_PERIOD_US or (
                value == 0 and self.revision < 5):
            raise numbers.refusal(errno.EINVAL, path)
        return value

    def set_budget(self, group: groups.Group, new: groups.Budget, path: str
                   ) -> int | None:
        for old, pair in zip(scalars.budget_of(group).pairs(), new.pairs(),
                             strict=True):
            if pair != old and not self.is_server(*pair):
                raise numbers.refusal(errno.EINVAL, path)
        return super().set_budget(group, new, path)

    def is_server(self, runtime: int, period: int) -> bool:
        """Returns whether a deadline server can have these us, 0 for none."""
        if hcbs.is_no_server(runtime, period):
            return False
        return self.revision < 5 or is_in_range(runtime, period)

    def check_group(self, group: groups.Group, budget: groups.Budget,
                    path: str) -> None:
        # Tasks of the root group ignore its budget.
        if group.parent is not None:
            super().check_group(group, budget, path)

    def check_tree(self, changed: groups.Group | None,
                   new: groups.Budget | None, path: str) -> None:
        super().check_tree(changed, new, path)
        if new is not None and changed is self._root_group():
            share = max(new.ratios())
            used = self.deadline_used() + share * self.cpus
            if self.sysctl[0] >= 0 and used > self.pool():
                raise numbers.refusal(errno.EBUSY, path)


def is_in_range(runtime: int, period: int) -> bool:
    """Checks the range of periods; a group without a budget needs none."""
    return (MIN_PERIOD_US <= period <= MAX_PERIOD_US
            or runtime == period == 0)
