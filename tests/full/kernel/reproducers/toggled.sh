#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Numbers freeze the cpuset of a group, but the controller can be switched off
# above the group.  The tasks may then run on all CPUs, and the servers stay on
# the old ones.  A real-time task that starts elsewhere never runs.
. "$(dirname "$0")/common.sh"
begin
mkdir "$top/a"
put "$top/a/cpuset.cpus" 1 || skip 'there is one CPU'
put "$top/a/cpu.rt.max" '100000 1000000' || skip 'no bandwidth is left'
put "$top/a/cpuset.cpus" 0 && defect 'the cpuset of numbers can be changed'
put "$top/cgroup.subtree_control" -cpuset || good 'it cannot be switched off'
grep -q '^0 runtime=100000 ' "$top/a/cpu.rt.max.effective.local" ||
    defect 'the controller is off, and the servers stay on CPU 1'
good 'the servers follow the tasks'
