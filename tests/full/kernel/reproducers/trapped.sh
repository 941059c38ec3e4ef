#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A group of "max" below numbers that are spent on its CPU takes a real-time
# task.  The task never runs, is not pushed to a CPU where there is runtime
# left, and SIGKILL does not end it.
. "$(dirname "$0")/common.sh"
begin
mkdir "$top/spends" "$top/waits"
put "$top/spends/cpuset.cpus" 0
put "$top/waits/cpuset.cpus" 0
put "$top/spends/cpu.rt.max" '200000 1000000' || skip 'no bandwidth is left'
put "$top/cpu.rt.max" '200000 1000000' || skip 'numbers above are refused'
sh -c 'while :; do :; done' &
task=$!
echo "$task" > "$top/waits/cgroup.procs"
if ! chrt -f -p 1 "$task" 2> /dev/null; then
    kill -9 "$task"
    good 'the task cannot become real-time there'
fi
before=$(cut -d' ' -f14 "/proc/$task/stat")
sleep 2
after=$(cut -d' ' -f14 "/proc/$task/stat")
kill -9 "$task"
sleep 4
state=$(cut -d' ' -f3 "/proc/$task/stat" 2> /dev/null)
# What was taken comes back, so that the task can end.
put "$top/spends/cpu.rt.max" '100000 1000000'
wait "$task"
[ "$before" != "$after" ] || defect \
    "the task got nothing in 2 s; 4 s after SIGKILL its state was ${state:-gone}"
good 'the task ran'
