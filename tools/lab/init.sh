#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of the machine: the rest comes with the shared directory.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 lab /lab
exec bash /lab/guest.sh
