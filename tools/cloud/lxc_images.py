# SPDX-License-Identifier: Apache-2.0

"""Builds the container images without mounting anything.

``lxc-busybox`` idles, ``lxc-busy`` keeps several tasks spinning,
``lxc-hostile`` tries to take more than its share.  All are ext4 file systems
with a static busybox as init.
"""

from collections.abc import Iterable
import functools
import pathlib
import re
import shutil
import subprocess

from cloud import glance

SIZE = '8M'
# More tasks than a small flavor has vCPUs, to really test a reservation.
BUSY_TASKS = 3

# The numbers are there because init starts equal lines only once.
INITTABS = {
    'lxc-busybox': '::respawn:/bin/sleep 2147483647\n',
    'lxc-busy': ''.join(
        f'::respawn:/bin/busy {task}\n' for task in range(BUSY_TASKS)),
    'lxc-hostile': '::respawn:/bin/hostile\n',
}
SCRIPTS = {
    'busy': '#!/bin/sh\nwhile :; do :; done\n',
    'hostile': """#!/bin/sh
/bin/chrt --fifo 99 /bin/busy &
while :; do
    /bin/sh -c 'for child in 1 2 3 4 5 6 7 8; do : & done; wait'
done
""",
}


def upload(images: glance.Glance, busybox: pathlib.Path,
           scratch: pathlib.Path) -> None:
    """Uploads the images of containers."""
    chrt = pathlib.Path(shutil.which('chrt') or '/usr/bin/chrt')
    for name, inittab in INITTABS.items():
        ensure(images, name, inittab, busybox, scratch, chrt)


def ensure(images: glance.Glance, name: str, inittab: str,
           busybox: pathlib.Path, scratch: pathlib.Path,
           *programs: pathlib.Path) -> str:
    """Returns the id of an image with *programs* in its /bin."""
    return images.ensure(
        name, functools.partial(_build, name, inittab, scratch,
                                busybox, *programs), 'raw', 'bare')


def _build(name: str, inittab: str, scratch: pathlib.Path,
           *programs: pathlib.Path) -> pathlib.Path:
    root = scratch / name
    fill(root, inittab, programs)
    image = scratch / f'{name}.raw'
    subprocess.run(
        ['mkfs.ext4', '-q', '-O', '^has_journal', '-d', root, image, SIZE],
        check=True, stdout=subprocess.DEVNULL)
    return image


def fill(root: pathlib.Path, inittab: str,
         programs: Iterable[pathlib.Path]) -> None:
    """Puts busybox and *programs* below a new *root*."""
    # libvirt can make the last one only for a container with a network.
    for directory in ('bin', 'dev', 'etc', 'proc', 'sbin', 'tmp',
                      'sys/fs/cgroup'):
        (root / directory).mkdir(parents=True)
    for program in programs:
        shutil.copy(program, root / 'bin' / program.name)
        for library in _libraries(program):
            (root / library.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(f'/{library}', root / library)
    for link in ('bin/sh', 'bin/sleep', 'sbin/init'):
        (root / link).symlink_to('/bin/busybox')
    (root / 'etc' / 'inittab').write_text(inittab)
    for name, script in SCRIPTS.items():
        (root / 'bin' / name).write_text(script)
        (root / 'bin' / name).chmod(0o755)


def _libraries(program: pathlib.Path) -> list[pathlib.Path]:
    """Returns the libraries of a program, as paths from the root."""
    shown = subprocess.run(['ldd', program], check=False, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [pathlib.Path(path)
            for path in re.findall(r'\s/(\S+)', shown.stdout)]
