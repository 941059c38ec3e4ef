# SPDX-License-Identifier: Apache-2.0

"""Makes the images of virtual machines: Debian's kernel, busybox as init.

``qemu-idle`` idles, ``qemu-busy`` keeps each vCPU spinning, and
``qemu-hostile`` also starts processes as fast as it can.  The images share
the kernel and the initrd, and differ in the kernel's command line.  The disk
is empty, but Nova requires a disk.
"""

import functools
import gzip
import pathlib
import shutil
import subprocess
import sys

from cloud import glance

# tools/setup.sh puts the kernel there.
KERNEL = pathlib.Path(sys.prefix) / 'cache' / 'vmlinuz'
DISK_SIZE = 1 << 20

# Without no_timer_check the kernel would panic if its budget is used up while
# it checks the timer; on KVM it knows that it is a guest.  The kernel passes
# words that it does not know to init as environment.
COMMAND_LINES = {
    name: f'console=ttyS0 quiet no_timer_check guest={name.split("-")[1]}'
    for name in ('qemu-idle', 'qemu-busy', 'qemu-hostile')}
# The line on the console says that the guest is up.
INIT = '''#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t devtmpfs dev /dev
vcpus=$($busybox grep -c ^processor /proc/cpuinfo)
if [ "$guest" != idle ]; then
    left=$vcpus
    while [ "$left" -gt 0 ]; do
        while :; do :; done &
        left=$((left - 1))
    done
fi
if [ "$guest" = hostile ]; then
    while :; do
        $busybox sh -c 'for child in 1 2 3 4 5 6 7 8; do : & done; wait'
    done &
fi
echo "nova-rt guest: $vcpus vCPUs $guest" > /dev/console
exec $busybox sleep 2147483647
'''


def upload(images: glance.Glance, busybox: pathlib.Path,
           scratch: pathlib.Path) -> None:
    """Uploads the images of virtual machines."""
    kernel = images.ensure('qemu-kernel', lambda: KERNEL, 'aki', 'aki')
    initrd = images.ensure(
        'qemu-initrd', functools.partial(build_initrd, busybox, scratch),
        'ari', 'ari')
    for name, line in COMMAND_LINES.items():
        images.ensure(name, functools.partial(disk, scratch), 'ami', 'ami',
                      kernel_id=kernel, ramdisk_id=initrd,
                      os_command_line=line)


def build_initrd(busybox: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """Builds the initrd of the images."""
    root = scratch / 'initrd'
    for directory in ('bin', 'dev', 'proc'):
        (root / directory).mkdir(parents=True)
    shutil.copy(busybox, root / 'bin' / 'busybox')
    init = root / 'init'
    init.write_text(INIT)
    init.chmod(0o755)
    image = scratch / 'initrd.gz'
    image.write_bytes(gzip.compress(pack(root, busybox)))
    return image


def pack(root: pathlib.Path, busybox: pathlib.Path) -> bytes:
    """Returns a directory as a cpio archive, as Linux reads an initrd."""
    names = [str(path.relative_to(root)) for path in root.rglob('*')]
    return subprocess.run(
        [busybox, 'cpio', '-o', '-H', 'newc'], cwd=root, check=True,
        input='\n'.join(names).encode(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout


def disk(scratch: pathlib.Path) -> pathlib.Path:
    """Makes the empty disk."""
    image = scratch / 'empty.raw'
    with image.open('wb') as file:
        file.truncate(DISK_SIZE)
    return image
