# SPDX-License-Identifier: Apache-2.0
# What the reproducers share.  Each of them takes the mount point of cgroup v2
# (default: /sys/fs/cgroup), needs root, and ends with 0 if the kernel does as
# it should, with 1 if the defect is there, and with 2 if it cannot be tried.

mount=${1:-/sys/fs/cgroup}
top=$mount/rt-max-reproducer

skip() { echo "cannot be tried: $*"; exit 2; }
good() { echo "as it should be: $*"; exit 0; }
defect() { echo "defect: $*"; exit 1; }

# Writes a value to a file by one write; says whether the kernel took it.
put() { { printf '%s\n' "$2" > "$1"; } 2> /dev/null; }

# Makes the top group, with both controllers for the groups below it.
begin() {
    handed_on=$(cat "$mount/cgroup.subtree_control")
    root=$(cat "$mount/cpu.rt.max" 2> /dev/null)
    put "$mount/cgroup.subtree_control" +cpu || skip 'no controller cpu'
    put "$mount/cgroup.subtree_control" +cpuset || skip 'no controller cpuset'
    mkdir "$top" || skip "$top exists"
    trap end EXIT
    put "$top/cgroup.subtree_control" +cpu
    put "$top/cgroup.subtree_control" +cpuset
    [ -e "$top/cpu.rt.max.effective.local" ] ||
        skip 'groups have no cpu.rt.max by cpuset'
    # The root group may have no file; else it hands out 0 after the boot.
    [ ! -e "$mount/cpu.rt.max" ] ||
        put "$mount/cpu.rt.max" '900000 1000000' ||
        skip 'the root group gets no bandwidth'
}

# Removes the groups, and gives the root group what it had at the beginning.
end() {
    for group in "$top"/*/*/ "$top"/*/ "$top"; do
        put "$group/cpu.rt.max" 'max 0'
        rmdir "$group" 2> /dev/null
    done
    [ -z "$root" ] || put "$mount/cpu.rt.max" "$root"
    for controller in cpuset cpu; do
        case " $handed_on " in
            *" $controller "*) ;;
            *) put "$mount/cgroup.subtree_control" "-$controller" ;;
        esac
    done
}
