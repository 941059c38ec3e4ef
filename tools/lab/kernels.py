# SPDX-License-Identifier: Apache-2.0

"""Finds the kernel to boot: an image by its path, or a package of Debian."""

import dataclasses
import pathlib
import shutil
import struct

from lab import apt
from lab import cache as caches
from lab import programs

_STOCK = 'linux-image-amd64'
_REAL_TIME = 'linux-image-rt-amd64'
#: Suite and package of each kernel of Debian that has a name here.
DEBIAN = {'debian:12': ('bookworm', _STOCK),
          'debian:12-rt': ('bookworm', _REAL_TIME),
          'debian:13': ('trixie', _STOCK),
          'debian:13-rt': ('trixie', _REAL_TIME),
          'debian:13-backports': ('trixie-backports', _STOCK),
          'debian:sid': ('sid', _STOCK)}
_IMAGE = 'vmlinuz'
_CONFIG = 'config'
#: The CPUs of a lab with KVM are those of AMD.
_KVM = 'kvm-amd.ko'
# The boot protocol of Linux on x86, Documentation/arch/x86/boot.rst.
_MAGIC = b'HdrS'
_MAGIC_AT = 0x202
_VERSION_AT = 0x20e
_SECTOR = 0x200


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel for QEMU to boot.

    :ivar name: the name that the user gave
    :ivar release: as ``uname -r`` prints it
    :ivar image: a bzImage
    :ivar modules: its directory of modules; None if it needs no modules
    :ivar config: its build configuration; None if that is unknown
    """

    name: str
    release: str
    image: pathlib.Path
    modules: pathlib.Path | None = None
    config: pathlib.Path | None = None

    def require_kvm(self) -> None:
        """Checks for KVM's module, unless the kernel may have KVM built in.

        :raises LabError: when the kernel has modules, but not that of KVM
        """
        if self.modules is not None and not any(
                self.modules.glob(f'**/{_KVM}*')):
            raise programs.LabError(
                f'{self.name} has no module {_KVM}, so --kvm has no '
                'effect: name a kernel that was built with CONFIG_KVM_AMD=m')


def find(name: str, cache: pathlib.Path,
         modules: pathlib.Path | None = None) -> Kernel:
    """Returns the kernel of this name.

    :param name: a key of DEBIAN or the path of an image
    :param modules: the directory of modules of an image given by path
    :raises LabError: when there is no such kernel, or the file is not an image
    """
    if name.startswith('debian:'):
        if name not in DEBIAN:
            raise programs.LabError(
                f'{name} is not one of the kernels of Debian that the lab '
                f'knows: name one of {", ".join(DEBIAN)}')
        return _debian(name, cache)
    image = pathlib.Path(name).resolve()
    if not image.is_file():
        raise programs.LabError(
            f'{name} is not a kernel: give the path of an image (bzImage) or '
            f'one of {", ".join(DEBIAN)}')
    if modules is not None and not (modules / 'modules.dep').is_file():
        raise programs.LabError(
            f'{modules} has no modules.dep: give the directory of the '
            "kernel's modules, as /lib/modules/RELEASE, after depmod")
    return Kernel(name, release_of(image), image, modules)


def release_of(image: pathlib.Path) -> str:
    """Returns the release that a bzImage names in its header."""
    with image.open('rb') as file:
        header = file.read(_SECTOR * 64)
    if header[_MAGIC_AT:_MAGIC_AT + len(_MAGIC)] != _MAGIC:
        raise programs.LabError(
            f'{image} is not a kernel image for x86 (bzImage): build one with '
            '"make bzImage", or give that file')
    offset, = struct.unpack_from('<H', header, _VERSION_AT)
    text = header[_SECTOR + offset:].partition(b'\0')[0]
    return text.decode('ascii', 'replace').partition(' ')[0]


def _debian(name: str, cache: pathlib.Path) -> Kernel:
    directory = cache / name.replace(':', '-')
    if not directory.is_dir():
        _fetch(*DEBIAN[name], directory, cache)
    image = directory / _IMAGE
    release = release_of(image)
    return Kernel(name, release, image,
                  directory / 'lib' / 'modules' / release,
                  directory / _CONFIG)


def _fetch(suite: str, package: str, directory: pathlib.Path,
           cache: pathlib.Path) -> None:
    """Unpacks a kernel of a suite into *directory*, or leaves nothing."""
    programs.require('depmod', 'dpkg-deb')
    archive = apt.Archive(suite, cache / 'apt' / suite)
    archive.update()
    with caches.scratch(cache) as scratch:
        work = pathlib.Path(scratch)
        (work / 'packages').mkdir()
        archive.download_kernel(package, work / 'packages')
        for part in (work / 'packages').glob('*.deb'):
            programs.run(['dpkg-deb', '-x', part, work / 'root'])
        _index(work / 'root')
        (work / 'root').rename(directory)


def _index(root: pathlib.Path) -> None:
    """Moves image and modules to the same places for every release."""
    modules = root / 'lib' / 'modules'
    if not modules.is_dir():
        modules.parent.mkdir(exist_ok=True)
        shutil.move(root / 'usr' / 'lib' / 'modules', modules)
    for name in (_IMAGE, _CONFIG):
        paths = [*root.glob(f'boot/{name}-*'), *modules.glob(f'*/{name}')]
        paths[0].rename(root / name)
    programs.run(['depmod', '-b', root, release_of(root / _IMAGE)])
