#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the machine: mounts file systems, runs the jobs, switches off.
# settings.sh has PROJECT, CGROUP (v1 or v2), KVM (1 with --kvm), DEVICE (the
# driver of the SR-IOV device, or nothing), FUNCTIONS (of this device) and
# NOVA_RT_LAB_TOLERANCE, how far the share of a busy task may be off.
# shellcheck source=/dev/null
. /lab/settings.sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Everything is slow here.
export NOVA_RT_CLOUD_PATIENCE=20
export HOME=/root LANG=C.UTF-8 TMPDIR=/tmp

# Makes directories writable where the root is shared and read-only.
writable() {
    mount -t tmpfs -o mode=755 writable /mnt
    for directory in boot etc lib/modules root var; do
        mkdir -p "/mnt/$directory"
        cp -a "/$directory/." "/mnt/$directory"
        mount --bind "/mnt/$directory" "/$directory"
    done
    mkdir -p /mnt/project/.venv /mnt/cache
    mount --bind "$PROJECT/.venv" /mnt/project/.venv
    # The cloud keeps databases there.
    cp -a "$PROJECT/.venv/cache/." /mnt/cache
    mount --bind /mnt/cache /mnt/project/.venv/cache
    mount --rbind /mnt/project "$PROJECT"
    mount -t tmpfs -o mode=1777 tmp /tmp
}
{ true > /root/.writable; } 2>/dev/null || writable

mkdir -p /dev/pts /dev/shm /dev/mqueue
mount -t devpts -o gid=5,mode=620 devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t mqueue mqueue /dev/mqueue
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t securityfs security /sys/kernel/security 2>/dev/null
hostname lab
ip link set lo up

mkdir -p /boot
[ ! -f /lab/config ] || cp /lab/config "/boot/config-$(uname -r)"
if [ -d /lab/modules ]; then
    mkdir -p "/lib/modules/$(uname -r)"
    mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose modules \
        "/lib/modules/$(uname -r)"
    for module in fuse loop veth bridge tun vhost_net; do
        modprobe -q "$module"
    done
    [ "$KVM" = 0 ] || modprobe kvm_amd
    [ -z "$DEVICE" ] || modprobe -a vfio-pci "$DEVICE"
fi
[ -z "$DEVICE" ] || for file in /sys/bus/pci/devices/*/sriov_numvfs; do
    echo "$FUNCTIONS" > "$file"
done
# khugepaged keeps pages of programs while it reads others from the disk, and
# by a deterministic clock all tasks then seem to stand still for hours.
huge=/sys/kernel/mm/transparent_hugepage/enabled
[ ! -e $huge ] || echo never > $huge
mkdir -p /dev/hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages 2>/dev/null

if [ "$CGROUP" = v2 ]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
    for controllers in cpu,cpuacct cpuset memory devices freezer pids blkio; do
        mkdir -p "/sys/fs/cgroup/$controllers"
        mount -t cgroup -o "$controllers" cgroup \
            "/sys/fs/cgroup/$controllers" 2>/dev/null ||
            rmdir "/sys/fs/cgroup/$controllers"
    done
    # Mounted as on any Debian.
    for controller in cpu cpuacct; do
        ln -s cpu,cpuacct "/sys/fs/cgroup/$controller"
    done
fi

mkdir -p "$PROJECT"
tar -x -C "$PROJECT" -f /lab/project.tar
if [ -d /lab/databases ]; then
    # Without the databases, the cloud makes its own and starts later.
    mkdir -p "$PROJECT/.venv/cache/cloud"
    cp -r /lab/databases/. "$PROJECT/.venv/cache/cloud"
fi
cd "$PROJECT" || exit 1
export PATH="$PROJECT/.venv/bin:$PATH"

uname -r > /lab/out/release
cut -d ' ' -f 1 /proc/uptime > /lab/out/uptime
for job in /lab/jobs/*; do
    name=${job##*/}
    before=$(date +%s)
    if [ "$KVM" = 1 ] && [ ! -e /dev/kvm ]; then
        echo 'This kernel has no KVM for AMD: build it with CONFIG_KVM_AMD,' \
            'or leave out --kvm.' > "/lab/out/$name.output"
        false
    else
        bash "$job" > "/lab/out/$name.output" 2>&1 < /dev/null
    fi
    echo "$? $(($(date +%s) - before))" > "/lab/out/$name.status"
done
sync
# QEMU ends at a reset; a kernel without ACPI cannot power the machine off.
echo b > /proc/sysrq-trigger
