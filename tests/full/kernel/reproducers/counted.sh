#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A deadline server of a group adds to the number of runnable tasks of its CPU
# when the server is enqueued, and takes less when the server is dequeued.  So
# each time the group is throttled, the CPU counts two tasks more, the load
# average rises, and the CPU can never go offline.
# The CPU is the last one, or the second argument.
. "$(dirname "$0")/common.sh"
debug=/sys/kernel/debug/sched/debug
cpu=${2:-$(($(getconf _NPROCESSORS_CONF) - 1))}

# Prints how many tasks the CPU counts.
counted() {
    awk -v name="cpu#$cpu," '/^cpu#/ { here = ($1 == name) }
        here && $1 == ".nr_running" { print $3; exit }' "$debug"
}

[ -n "$(counted 2> /dev/null)" ] || skip "$debug cannot be read"
begin
mkdir "$top/a"
put "$top/a/cpuset.cpus" "$cpu"
put "$top/a/cpu.rt.max" '40000 100000' || skip 'no bandwidth is left'
before=$(counted)
sh -c 'while :; do :; done' &
task=$!
echo "$task" > "$top/a/cgroup.procs"
if ! chrt -f -p 1 "$task"; then
    kill -9 "$task"
    skip 'the task cannot become real-time'
fi
sleep 2
kill -9 "$task"
wait "$task" 2> /dev/null
sleep 1
after=$(counted)
load=$(cut -d ' ' -f 1 /proc/loadavg)
[ "$after" -lt $((before + 5)) ] || defect \
    "CPU $cpu counts $after tasks after the task has ended, $before before; the load average is $load"
good "CPU $cpu counts $after tasks after the task has ended"
