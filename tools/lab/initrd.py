# SPDX-License-Identifier: Apache-2.0

"""Makes the initial RAM disk for a kernel whose drivers are modules.

The first root loads the modules for the disk and the shared directories, and
then switches to the disk, or to the directory that is the root.
"""

from collections.abc import Iterable, Mapping
import lzma
import pathlib
import shutil
import stat

from lab import programs

#: The modules that the lab needs; a kernel may have some of them built in.
WANTED = ('virtio_pci', 'virtio_blk', 'crc32c_generic', 'ext4', 'virtio_rng',
          '9pnet_virtio', '9p')
_INIT = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
for module in {modules}; do /bin/busybox insmod /$module; done
if [ -b /dev/vda ]; then /bin/busybox mount -t ext4 /dev/vda /root
else /bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,\
msize=262144,cache=loose /dev/root /root; fi || exit 1
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /init
"""


def build(modules: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the archive for a kernel with these modules.

    :param modules: the directory with modules.dep
    :raises LabError: when a module is compressed in a way that Python cannot
        read
    """
    programs.require('busybox')
    busybox = pathlib.Path(shutil.which('busybox') or '')
    table = parse_dependencies((modules / 'modules.dep').read_text())
    files = dict.fromkeys(('bin', 'dev', 'root'),
                          (stat.S_IFDIR | 0o755, b''))
    files['bin/busybox'] = (stat.S_IFREG | 0o755, busybox.read_bytes())
    order = []
    for number, path in enumerate(load_order(table, WANTED)):
        name = f'{number:02}-{_name(path)}.ko'
        files[name] = (stat.S_IFREG | 0o644, _unpacked(modules / path))
        order.append(name)
    init = _INIT.format(modules=' '.join(order))
    files['init'] = (stat.S_IFREG | 0o755, init.encode())
    target.write_bytes(archive(files))


def parse_dependencies(text: str) -> dict[str, list[str]]:
    """Returns the path of each module and the paths that the module needs."""
    pairs = (line.partition(':')[::2] for line in text.splitlines())
    return {path: needed.split() for path, needed in pairs}


def load_order(table: Mapping[str, list[str]], wanted: Iterable[str]
               ) -> list[str]:
    """Returns the paths to load in order; unknown names are built in.

    modules.dep lists the modules that a module needs, the nearest first.
    """
    by_name = {_name(path): path for path in table}
    order: dict[str, None] = {}
    for name in wanted:
        path = by_name.get(name)
        if path is not None:
            order |= dict.fromkeys([*reversed(table[path]), path])
    return list(order)


def _name(path: str) -> str:
    return pathlib.PurePath(path).name.partition('.')[0].replace('-', '_')


def _unpacked(path: pathlib.Path) -> bytes:
    if path.suffix == '.ko':
        return path.read_bytes()
    if path.suffix == '.xz':
        return lzma.decompress(path.read_bytes())
    raise programs.LabError(
        f'{path} is packed as {path.suffix}; the lab reads .ko and .ko.xz: '
        'unpack the modules and run depmod')


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Returns files as a cpio archive in the format "newc".

    :param files: mode and content of each path; directories come first
    """
    parts = [_entry(number, name, mode, content)
             for number, (name, (mode, content)) in enumerate(
                 files.items(), start=1)]
    return b''.join([*parts, _entry(0, 'TRAILER!!!', 0, b'')])


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    """Returns the entry of one file.

    See Documentation/driver-api/early-userspace/buffer-format.rst.
    """
    encoded = name.encode() + b'\0'
    # inode, mode, uid, gid, links, time, size, two devices, name, checksum
    numbers = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0,
               len(encoded), 0]
    head = b'070701' + b''.join(b'%08x' % value for value in numbers)
    return _padded(head + encoded) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b'\0' * (-len(data) % 4)
