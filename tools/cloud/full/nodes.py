# SPDX-License-Identifier: Apache-2.0

"""The two compute nodes of the full cloud, on one machine and kernel.

A node has a mount, a host name and a cgroup namespace, so that libvirt, Nova
and nova_rt see a host of their own: another name, another libvirt, and as the
root of the control groups one that the kernel gives a part of its real-time
pool. Neither node can hand out what is the other's.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import shutil
import signal
import time

from cloud import cleanup
from cloud import guests
from cloud import libvirtd
from cloud import processes
from cloud import settings

# us of each second, on every pCPU, of the 950 000 that kernels give out. The
# paper's 60 % fit the first; the machine's own groups find some left.
POOL_US = {'lxc': 650_000, 'qemu': 200_000}
# Dotted, or libvirt would ask the resolver for it.
HOST_NAMES = {guest: f'{guest}.example' for guest in guests.KINDS}

_UNIFIED = 'unified'
# Puts itself into a group, in every hierarchy.
_JOIN = 'for tasks in {tasks}; do echo $$ > "$tasks"; done; exec "$@"'
# libvirt_lxc cannot make a container on a machine that has both versions of
# cgroups: it is shown the first only. The mounts are made anew to show what
# is below the group only.
_ENTER = '''
hostname "$1"; shift
while [ "$1" != -- ]; do umount "$1"; shift; done; shift
while [ "$1" != -- ]; do mount -t cgroup -o "$2" cgroup "$1"; shift 2; done
shift
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift
exec "$@"
'''
_HOLDER = 'sleep'
_PATIENCE = 5


class NoRoom(Exception):
    """The kernel has not enough real-time CPU left for a node."""


def group(guest: str) -> str:
    """The node's group, the same in every hierarchy."""
    return f'nova-rt-{guest}'


def directory(cloud: settings.Settings, guest: str) -> pathlib.Path:
    """What is private to the node."""
    return cloud.run / f'node-{guest}'


def command(cloud: settings.Settings, guest: str) -> list[str]:
    """The command that makes the node, and keeps it as long as it runs."""
    _make_groups(guest)
    old, new = _cgroup_mounts()
    return [*_joined(guest), 'unshare', '--mount', '--cgroup', '--uts',
            '--propagation', 'slave', 'sh', '-euc', _ENTER, 'sh',
            HOST_NAMES[guest], *old, '--', *new, '--',
            *_binds(cloud, guest), '--', _HOLDER, 'infinity']


def ready(pid: int) -> bool:
    """Whether all its mounts are there."""
    try:
        name = pathlib.Path(f'/proc/{pid}/comm').read_text()
    except OSError:
        return False
    return name.strip() == _HOLDER


def libvirt_socket(pid: int) -> str:
    """Where the libvirtd of the node kept by *pid* listens, seen from here."""
    return f'/proc/{pid}/root{libvirtd.SOCKETS[0]}'


def inside(guest: str, pid: int) -> list[str]:
    """The command prefix that runs something on the node kept by *pid*."""
    return [*_joined(guest), 'nsenter', '--target', str(pid), '--mount',
            '--cgroup', '--uts', '--']


def clear(guest: str) -> None:
    """Kill all that runs on the node: guests, libvirtd, nova-compute."""
    deadline = time.monotonic() + _PATIENCE
    while (tasks := set(_tasks(guest))) and time.monotonic() < deadline:
        for task in tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(task, signal.SIGKILL)
        processes.reap()
        time.sleep(0.05)


def remove(guest: str) -> None:
    """Remove the node's groups; nothing runs there any more."""
    for root in _groups(guest):
        cleanup.remove_cgroup(root)


def _hierarchies() -> list[pathlib.Path]:
    return [path for path in sorted(cleanup.CGROUPS.iterdir())
            if path.is_dir() and not path.is_symlink()
            and path.name != _UNIFIED]


def _groups(guest: str) -> list[pathlib.Path]:
    found = (path / group(guest) for path in _hierarchies())
    return [path for path in found if path.exists()]


def _make_groups(guest: str) -> None:
    for hierarchy in _hierarchies():
        path = hierarchy / group(guest)
        path.mkdir(exist_ok=True)
        for name in ('cpuset.cpus', 'cpuset.mems'):
            if (hierarchy / name).exists():
                (path / name).write_text((hierarchy / name).read_text())
        pool = path / 'cpu.rt_runtime_us'
        if pool.exists():
            _fill(pool, guest)


def _fill(pool: pathlib.Path, guest: str) -> None:
    try:
        pool.write_text(f'{POOL_US[guest]}\n')
    except OSError as error:
        raise NoRoom(f'cannot have {POOL_US[guest]} us of each second, other '
                     f'groups hold too much: {error}') from error


def _joined(guest: str) -> list[str]:
    tasks = f'{cleanup.CGROUPS}/*/{group(guest)}/tasks'
    return ['sh', '-euc', _JOIN.format(tasks=tasks), 'sh']


def _cgroup_mounts() -> tuple[list[str], list[str]]:
    """What to unmount; where to mount, and which hierarchy."""
    old, new = [], []
    for line in pathlib.Path('/proc/self/mounts').read_text().splitlines():
        _, point, kind, options, *_ = line.split(' ')
        if kind in ('cgroup', 'cgroup2'):
            old.append(point)
        if kind == 'cgroup':
            names = [option for option in options.split(',')
                     if option not in ('rw', 'relatime')]
            new += [point, ','.join(names)]
    return old[::-1], new


def _binds(cloud: settings.Settings, guest: str) -> list[str]:
    """libvirt's directories; a node starts without a trace of another."""
    own = directory(cloud, guest)
    shutil.rmtree(own, ignore_errors=True)
    binds = libvirtd.binds(cloud)
    for number, path in enumerate(cleanup.LIBVIRT_DIRECTORIES):
        private = own / str(number)
        private.mkdir(parents=True)
        path.mkdir(parents=True, exist_ok=True)
        binds += [str(private), str(path)]
    return binds


def _tasks(guest: str) -> Iterator[int]:
    for root in _groups(guest):
        # Groups come and go meanwhile, which a walk does not mind.
        for below, _, _ in os.walk(root):
            with contextlib.suppress(OSError):
                found = pathlib.Path(below, 'cgroup.procs').read_text()
                yield from map(int, found.split())
