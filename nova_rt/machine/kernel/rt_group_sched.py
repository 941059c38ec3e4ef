# SPDX-License-Identifier: Apache-2.0

"""F1: mainline CONFIG_RT_GROUP_SCHED on cgroup v1.

The kernel caps the SCHED_FIFO and SCHED_RR tasks of a group at *runtime* in
every *period* on each CPU, and charges them at ticks.  The admission of the
kernel does not consider CPUs: the ratios of siblings must fit their parent, so
the interface is replicated.  Groups on one CPU run by the priorities of their
tasks.

Parents are throttled like any group.  If a parent held only the sum of its
children, one child that uses its runtime late in a period and again early in
the next would make the parent stop all children.  The removal of a busy child
would stop all children for up to two seconds.  So the top group of the guests
holds all available bandwidth while any guest has a budget.
"""

import dataclasses

from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import two_files

#: The shortest period in half ticks.  With a shorter period, refills are lost
#: while run time is not yet charged (measured:
#: doc/source/kernel/rt_group_sched.rst).
_LEAST_HALF_TICKS = 5


class RtGroupSched(two_files.TwoFiles):
    """The kernel interface F1 (``rt_group_sched``); see KernelInterface."""

    name = 'rt_group_sched'
    label = 'F1'
    file = two_files.RUNTIME
    replicated = True
    fixed_priorities = True
    throttles_parents = True

    def capacity(self, ours: str) -> base.Capacity:
        limit = super().capacity(ours)
        return dataclasses.replace(
            limit, fixed_priorities=True,
            min_period_us=_LEAST_HALF_TICKS * limit.tick_us // 2)

    def keeps_room(self, group: str) -> bool:
        return '/' not in group.strip('/')

    def _parent_lanes(self, path: str, total: base.Lanes) -> base.Lanes:
        group = path.removeprefix(self._root)
        if not self.keeps_room(group) or not any(total):
            return super()._parent_lanes(path, total)
        others = self._total(child for child in self._below(self._root)
                             if child != path)
        return tuple(
            max(own, limit - other) for own, limit, other
            in zip(total, self._limits(), others, strict=True))

    @classmethod
    def evidence(cls, version: int) -> base.Evidence:
        return base.Evidence.RELEASE

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return (survey.version == 1
                and survey.in_group(two_files.RUNTIME)
                and not survey.in_group(two_files.MULTI)
                and too_long(survey) is rt_survey.Outcome.REFUSED)

    def _tick_us(self) -> int:
        return ticks.tick_us()  # Mainline never charges by a timer.


def too_long(survey: rt_survey.Survey) -> rt_survey.Outcome:
    """Tests how the kernel refuses a runtime that exceeds the period.

    Mainline refuses it by EINVAL, the first HCBS patches by a short write.
    """
    period = survey.number(two_files.PERIOD)
    return survey.attempt(two_files.RUNTIME, str(period + 1))
