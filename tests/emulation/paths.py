# SPDX-License-Identifier: Apache-2.0

"""The paths and names of the files of all emulated kernels."""

CPUS = 'cpuset.cpus'
EFFECTIVE = 'cpuset.cpus.effective'
TASKS = 'tasks'
PROCS = 'cgroup.procs'
THREADS = 'cgroup.threads'
CONTROLLERS = 'cgroup.controllers'
SUBTREE = 'cgroup.subtree_control'
TYPE = 'cgroup.type'
EVENTS = 'cgroup.events'
STAT = 'cgroup.stat'
SYSCTL_RUNTIME = '/proc/sys/kernel/sched_rt_runtime_us'
SYSCTL_PERIOD = '/proc/sys/kernel/sched_rt_period_us'
POSSIBLE = '/sys/devices/system/cpu/possible'

CPU_MOUNT = '/sys/fs/cgroup/cpu'
CPUSET_MOUNT = '/sys/fs/cgroup/cpuset'
UNIFIED_MOUNT = '/sys/fs/cgroup'
