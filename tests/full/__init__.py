# SPDX-License-Identifier: Apache-2.0

"""Tests on the full cloud: from a person's command to the kernel's budget.

The tests need root and cgroup v1 with RT_GROUP_SCHED.  On a machine that lacks
one of these, the tests are skipped with the reason.  The tests run one after
the other, because there is one cloud.
"""
