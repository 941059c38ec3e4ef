#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A group gets numbers above a group of "max" above a group with numbers.  While
# the kernel checks the write, it does not compare the two numbers, and counts
# the budget below for the root group a second time.
. "$(dirname "$0")/common.sh"
begin
mkdir "$top/a"
put "$top/a/cgroup.subtree_control" +cpu
put "$top/a/cgroup.subtree_control" +cpuset
mkdir "$top/a/b"
put "$top/a/b/cpu.rt.max" '500000 1000000' || skip 'no bandwidth is left'
put "$top/cpu.rt.max" '500000 1000000' ||
    defect 'numbers are refused: the budget below counts twice'
put "$top/cpu.rt.max" 'max 0'
put "$top/cpu.rt.max" '400000 1000000' &&
    defect 'numbers are taken that are less than those below'
good 'numbers are compared with all numbers below'
