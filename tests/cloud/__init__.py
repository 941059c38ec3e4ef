# SPDX-License-Identifier: Apache-2.0

"""Tests on the embedded cloud: real services, libvirt and kernel.

The tests need root and cgroup v1 with RT_GROUP_SCHED.  On a machine that lacks
one of these, the tests are skipped with the reason.
"""
