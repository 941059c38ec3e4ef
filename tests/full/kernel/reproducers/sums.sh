#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sums of children are compared with the wrong numbers: they are added up
# over all groups of one walk, and compared with the old period of the group
# that is written.  Then the second group on another CPU, a group with another
# period than the root group, and a group below a group are refused.
. "$(dirname "$0")/common.sh"
begin
mkdir "$top/a" "$top/b"
put "$top/a/cpuset.cpus" 0
put "$top/b/cpuset.cpus" 1 || skip 'there is one CPU'
put "$top/a/cpu.rt.max" '500000 1000000' || defect 'a first group is refused'
put "$top/b/cpu.rt.max" '500000 1000000' ||
    defect 'a group on another CPU is refused'
put "$top/b/cpu.rt.max" '40000 100000' ||
    defect 'a period other than that of the root group is refused'
put "$top/cpu.rt.max" '500000 1000000' ||
    defect 'numbers above groups that fit are refused'
put "$top/cpu.rt.max" '400000 1000000' &&
    defect 'numbers are taken that are less than the sum below'
good 'sums are of the children of one group, by CPU'
