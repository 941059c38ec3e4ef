# SPDX-License-Identifier: Apache-2.0

"""Tests on the embedded cloud: real services, libvirt and kernel.

They need root and cgroup v1 with RT_GROUP_SCHED, and are skipped, saying so,
where the machine lacks that.
"""
