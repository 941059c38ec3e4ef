# SPDX-License-Identifier: Apache-2.0

"""Makes the images of KVM guests: a kernel of our own, kvm_guest.S.

Debian's kernel takes minutes to boot where virtualization is emulated.
``kvm-idle`` idles, ``kvm-busy`` and ``kvm-hostile`` keep each vCPU spinning; a
KVM guest cannot be more hostile than that.
"""

import functools
import pathlib
import subprocess

from cloud import glance
from cloud import qemu_images

_SOURCE = pathlib.Path(__file__).with_name('kvm_guest.S')
COMMAND_LINES = {name: f'guest={name.removeprefix("kvm-")}'
                 for name in ('kvm-idle', 'kvm-busy', 'kvm-hostile')}


def upload(images: glance.Glance, busybox: pathlib.Path,
           scratch: pathlib.Path) -> None:
    """Uploads the images; these guests do not need *busybox*."""
    kernel = images.ensure(
        'kvm-kernel', functools.partial(build, scratch), 'aki', 'aki')
    for name, line in COMMAND_LINES.items():
        images.ensure(name, functools.partial(qemu_images.disk, scratch),
                      'ami', 'ami', kernel_id=kernel, os_command_line=line)


def build(scratch: pathlib.Path) -> pathlib.Path:
    """Assembles the kernel in *scratch* and returns its path; needs gcc."""
    unit, kernel = scratch / 'kvm_guest.o', scratch / 'kvm_guest'
    subprocess.run(['gcc', '-c', '-o', unit, _SOURCE], check=True)
    subprocess.run(['ld', '-Ttext', '0', '--oformat', 'binary', '-o', kernel,
                    unit], check=True)
    return kernel
