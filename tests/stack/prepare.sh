#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a Debian 12 in a container of systemd ready for stack.sh: what a
# machine of one's own has, and DevStack takes for granted.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

divert() { # file, with what is read in its place
    dpkg-divert --local --rename --add "$1" > /dev/null
    install -m 755 /dev/stdin "$1"
}

setting() { # unit, lines of its section [Service]
    local folder=/etc/systemd/system/$1.service.d
    mkdir -p "$folder"
    printf '%s\n' '[Service]' "${@:2}" > "$folder/nova-rt.conf"
}

# The container shares the kernel, and loads no modules.
divert /usr/sbin/modprobe <<< $'#!/bin/sh\nexit 0'
for unit in iscsid open-iscsi; do
    setting "$unit" Type=oneshot RemainAfterExit=yes ExecStartPre= ExecStart= \
        ExecStart=/bin/true
done
# It ignores SIGTERM, and unstack.sh would wait for five minutes.
setting devstack@q-agt TimeoutStopSec=10
systemctl mask -q ssh.service ssh.socket
# On version 1 of the control groups it fails, and libvirt with it.
systemctl mask -q --now systemd-machined
divert /usr/share/dbus-1/system-services/org.freedesktop.machine1.service \
    < /dev/null

useradd --create-home --home-dir /opt/stack --shell /bin/bash stack
chmod 755 /opt/stack
echo 'stack ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/stack
git config --system --add safe.directory '*'
su - stack -c 'git clone -q file:///srv/share/openstack/devstack.git devstack'
