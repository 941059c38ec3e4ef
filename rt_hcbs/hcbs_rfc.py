# SPDX-License-Identifier: Apache-2.0

"""F3: the HCBS patches posted as RFC v1 to v5 (2025, 2026), cgroup v2 only.

Groups are deadline servers as in F2, and the interface is replicated.  New
groups have neither a runtime nor a period.  The root group may start without
a share and then gets one.
"""

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import two_files
from rt_hcbs import fragile


class HcbsRfc(fragile.FragileFiles):
    """The kernel interface F3 (``hcbs_rfc``); see KernelInterface."""

    name = 'hcbs_rfc'
    label = 'F3'
    file = two_files.RUNTIME
    replicated = True
    min_runtime_us = 2
    #: kernel.sched_deadline_period_min_us, checked from v5 on
    min_period_us = 100

    @classmethod
    def evidence(cls, version: int) -> base.Evidence:
        return base.Evidence.VALUES

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return is_rfc(survey) and (
            accepts_cpu_lists(survey) is rt_survey.Outcome.REFUSED)

    def prepare(self, ppm: int) -> None:
        self._seed(ppm)


def is_rfc(survey: rt_survey.Survey) -> bool:
    """Checks whether a new group has both files, and no period."""
    return (survey.version == 2
            and survey.in_group(two_files.RUNTIME)
            and not survey.in_group(two_files.MULTI)
            and survey.number(two_files.PERIOD) == 0)


def accepts_cpu_lists(survey: rt_survey.Survey) -> rt_survey.Outcome:
    """Tests whether a value may be followed by a list of CPUs."""
    return survey.attempt(two_files.PERIOD, '100000 0')
