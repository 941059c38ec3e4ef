# SPDX-License-Identifier: Apache-2.0

"""The disk of the machine: a Debian with our .venv, made once and cached.

The disk does not contain the project: each run copies the present files of the
project into the machine.
"""

import hashlib
import os
import pathlib

from lab import apt
from lab import cache as caches
from lab import programs

PROJECT = pathlib.Path(__file__).resolve().parents[2]
#: Written by tools/setup.sh; the stamp changes with the contents of .venv.
STAMP = PROJECT / '.venv' / '.setup-done'
INIT = pathlib.Path(__file__).with_name('init.sh')
#: The Debian release on the disk: .venv is made for its Python.
SUITE = 'bookworm'
PACKAGES = (
    'busybox-static', 'e2fsprogs', 'gcc', 'git', 'iproute2', 'kmod',
    'libbpf1', 'libc6-dev', 'libfuse3-3', 'libvirt-clients', 'libvirt-daemon',
    'libvirt-daemon-driver-lxc', 'libvirt-daemon-driver-qemu', 'libvirt-dev',
    'mount', 'pkg-config', 'procps', 'python3-dev', 'python3-venv',
    'qemu-system-x86', 'qemu-utils', 'util-linux')
_SIZE = '6G'
# All its processes end with the first one; its mounts are private.
_APART = ('unshare', '--mount', '--pid', '--mount-proc', '--fork',
          '--kill-child')
_FILE = 'root.ext4'
_TREE = 'root'
# Arguments: the Debian as a tar file, a scratch directory, the project, our
# init and the file to make.
_BUILD = """
root=$2/root
mkdir -p "$root"
tar -x --numeric-owner -C "$root" -f "$1"
mkdir -p "$root/lab" "$root$3"
cp -a "$3/.venv" "$root$3/.venv"
install -m 755 "$4" "$root/init"
mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$root" "$5" {size}
rm -rf "$root"
"""


def find(cache: pathlib.Path) -> pathlib.Path:
    """Returns the disk, and makes it if none matches the installed packages.

    :raises LabError: when the disk cannot be made because a program is
        missing or the user is not root
    """
    directory = cache / f'root-{_short(str(PROJECT))}-{_key()}'
    disk = directory / _FILE
    if not disk.is_file():
        _make(directory, cache)
        _forget_others(directory, cache)
    return disk


def tree(disk: pathlib.Path) -> pathlib.Path:
    """Returns what is on the disk as a directory, which is made once.

    :raises LabError: when the directory cannot be made because a program is
        missing or the user is not root
    """
    directory = disk.with_name(_TREE)
    if not directory.is_dir():
        programs.require('debugfs')
        if os.geteuid():
            raise programs.LabError(
                'the root of the machine must be unpacked as root: run '
                'tools/lab.sh once as root with the same --cache and --root '
                '9p, or leave out --root')
        work = disk.with_name(f'{_TREE}-in-progress')
        programs.run(['rm', '-rf', work])
        work.mkdir()
        programs.run(['debugfs', '-R', f'rdump / {work}', disk])
        # The machine cannot make directories there.
        (work / 'usr/lib/modules').mkdir(exist_ok=True)
        work.rename(directory)
    return directory


def _key() -> str:
    """Returns a key that changes with everything that is on the disk."""
    inputs = (STAMP.read_text(), INIT.read_text(), str(PROJECT), SUITE,
              ' '.join(PACKAGES), _SIZE, _BUILD)
    return _short('\0'.join(inputs))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make(directory: pathlib.Path, cache: pathlib.Path) -> None:
    programs.require('mmdebstrap', 'mke2fs')
    if os.geteuid():
        raise programs.LabError(
            'the disk of the machine must be made as root: run tools/lab.sh '
            'once as root with the same --cache, or give a cache that has the '
            'disk')
    debian = _debian(cache)
    with caches.scratch(cache) as scratch:
        work = pathlib.Path(scratch)
        (work / 'disk').mkdir()
        programs.run([*_APART, 'sh', '-ec', _BUILD.format(size=_SIZE), 'sh',
                      debian, work, PROJECT, INIT, work / 'disk' / _FILE])
        (work / 'disk').rename(directory)


def _debian(cache: pathlib.Path) -> pathlib.Path:
    """Returns the Debian as a tar file, which all projects share."""
    debian = cache / f'debian-{_short(" ".join((SUITE, *PACKAGES)))}.tar'
    if debian.is_file():
        return debian
    for old in cache.glob('debian-*.tar'):
        old.unlink()
    with caches.scratch(cache) as scratch:
        work = pathlib.Path(scratch)
        programs.run([*_APART, 'mmdebstrap', '--quiet', '--variant=minbase',
                      f'--include={",".join(PACKAGES)}', SUITE,
                      work / debian.name, apt.mirror()], scratch=work)
        (work / debian.name).rename(debian)
    return debian


def _forget_others(current: pathlib.Path, cache: pathlib.Path) -> None:
    """Removes the old disk of this project, but no disk of other projects."""
    for other in cache.glob(f'root-{_short(str(PROJECT))}-*'):
        if other != current:
            programs.run(['rm', '-rf', other])
