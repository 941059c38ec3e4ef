# SPDX-License-Identifier: Apache-2.0

"""F1: mainline CONFIG_RT_GROUP_SCHED on cgroup v1.

The kernel caps the SCHED_FIFO and SCHED_RR tasks of a group at *runtime* in
every *period* on each CPU, charged at ticks.  Its admission knows no CPUs:
the ratios of siblings must fit their parent, so the interface is replicated.
"""

from nova_rt.kernel import survey as rt_survey
from nova_rt.kernel import ticks
from nova_rt.kernel import two_files


class RtGroupSched(two_files.TwoFiles):
    """See KernelInterface."""

    name = 'rt_group_sched'
    replicated = True

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return (survey.version == 1
                and survey.in_group(two_files.RUNTIME)
                and not survey.in_group(two_files.MULTI)
                and too_long(survey) is rt_survey.Outcome.REFUSED)

    def _tick_us(self) -> int:
        return ticks.tick_us()  # never by a timer


def too_long(survey: rt_survey.Survey) -> rt_survey.Outcome:
    """How the kernel takes a runtime beyond the period: stores it nowhere.

    Mainline refuses with EINVAL, the first HCBS patches by a short write.
    """
    period = survey.number(two_files.PERIOD)
    return survey.attempt(two_files.RUNTIME, str(period + 1))
