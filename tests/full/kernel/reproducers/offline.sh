#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Taking a CPU offline does not end while a real-time task of a group is busy
# there.  Afterwards each write to an online file hangs: reboot the host.
. "$(dirname "$0")/common.sh"
[ "${2:-}" = --this-host-needs-a-reboot ] ||
    skip 'say --this-host-needs-a-reboot after the mount point'
begin
cpu=$(($(getconf _NPROCESSORS_CONF) - 1))
[ "$cpu" -gt 0 ] || skip 'there is one CPU'
mkdir "$top/a"
put "$top/a/cpuset.cpus" "$cpu"
put "$top/a/cpu.rt.max" '400000 1000000' || skip 'no bandwidth is left'
sh -c 'while :; do :; done' &
task=$!
echo "$task" > "$top/a/cgroup.procs"
chrt -f -p 1 "$task" || skip 'the task cannot become real-time'
put "/sys/devices/system/cpu/cpu$cpu/online" 0 &
writer=$!
seconds=0
while kill -0 "$writer" 2> /dev/null && [ "$seconds" -lt 20 ]; do
    sleep 1
    seconds=$((seconds + 1))
done
kill -9 "$task"
kill -0 "$writer" 2> /dev/null &&
    defect 'the CPU is not offline after 20 s; reboot this host'
put "/sys/devices/system/cpu/cpu$cpu/online" 1
good 'the CPU went offline and came back'
