# SPDX-License-Identifier: Apache-2.0

"""Tests on the full cloud: from a person's command to the kernel's budget.

They need root and cgroup v1 with RT_GROUP_SCHED, and are skipped, saying so,
where the machine lacks that.  Serially: there is one cloud.
"""
