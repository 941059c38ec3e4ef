# SPDX-License-Identifier: Apache-2.0

"""F2: the first HCBS patches (Linux 4.x to 5.10), on cgroup v1 or v2.

A group is a deadline server on each CPU.  The kernel guarantees the share of
the group, whatever the priorities of other tasks are, and also caps the share.
The kernel admits as mainline does, so the interface is replicated.  A runtime
that is set to 0 too early makes these kernels panic.
"""

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import rt_group_sched
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import two_files
from rt_hcbs import fragile


class Hcbs(fragile.FragileFiles):
    """The kernel interface F2 (``hcbs``); see KernelInterface."""

    name = 'hcbs'
    label = 'F2'
    file = two_files.RUNTIME
    replicated = True
    #: the kernel stores no runtime below 1024 ns
    min_runtime_us = 2

    @classmethod
    def evidence(cls, version: int) -> base.Evidence:
        if version == 1:
            return base.Evidence.RELEASE
        return base.Evidence.VALUES

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        if not survey.in_group(two_files.RUNTIME) or (
                survey.in_group(two_files.MULTI)):
            return False
        if survey.version == 1:
            return (rt_group_sched.too_long(survey)
                    is rt_survey.Outcome.SHORT)
        # With the later patches (F3), new groups on v2 have no period.
        return survey.number(two_files.PERIOD) > 0
