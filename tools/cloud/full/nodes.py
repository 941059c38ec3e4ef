# SPDX-License-Identifier: Apache-2.0

"""Makes the compute nodes of the full cloud, on one machine and kernel.

A node has a mount, a host name and a cgroup namespace, so that libvirt, Nova
and nova_rt see a host of their own.  The host has a name and a libvirt of its
own, and the root of its control groups is a group that holds a part of the
kernel's real-time pool.  No node can give away the part of another node.  Two
nodes of a kind have different libvirt identities and different disks below the
same path, so that a virtual machine can move from one to the other.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import shutil
import signal
import time
import uuid

from cloud import cleanup
from cloud import computes
from cloud import libvirtd
from cloud import processes
from cloud import settings

_UNIFIED = 'unified'
# Puts the shell into a group, in every hierarchy.
_JOIN = 'for tasks in {tasks}; do echo $$ > "$tasks"; done; exec "$@"'
# libvirt_lxc cannot make a container on a machine that has both versions of
# cgroups, so it sees only version 1.  The mounts are made again, so that they
# show only what is below the group.
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


class NoNode(Exception):
    """A node cannot be made on this kernel in its present state."""


def directory(cloud: settings.Settings, node: computes.Node) -> pathlib.Path:
    """Returns the node's private directory, which has its host name."""
    return cloud.run / node.host_name


def libvirt_etc(cloud: settings.Settings, node: computes.Node
                ) -> pathlib.Path:
    """Returns the configuration of its libvirt, with the defined domains."""
    return directory(cloud, node) / 'etc'


def command(cloud: settings.Settings, node: computes.Node) -> list[str]:
    """Returns the command that makes the node and keeps it while it runs.

    :raises NoNode: when the machine has cgroup v2, or no room
    """
    if (cleanup.CGROUPS / 'cgroup.controllers').exists():
        raise NoNode('needs cgroup v1: a node is made of its hierarchies')
    _make_groups(node)
    old, new = _cgroup_mounts()
    return [*_joined(node), 'unshare', '--mount', '--cgroup', '--uts',
            '--propagation', 'slave', 'sh', '-euc', _ENTER, 'sh',
            node.host_name, *old, '--', *new, '--',
            *_binds(cloud, node), '--', _HOLDER, 'infinity']


def ready(pid: int) -> bool:
    """Returns whether all mounts of the node exist."""
    try:
        name = pathlib.Path(f'/proc/{pid}/comm').read_text()
    except OSError:
        return False
    return name.strip() == _HOLDER


def libvirt_socket(pid: int) -> str:
    """Returns the socket, seen from here, of the node kept by *pid*."""
    return f'/proc/{pid}/root{libvirtd.SOCKETS[0]}'


def inside(node: computes.Node, pid: int) -> list[str]:
    """Returns the prefix of a command to run on the node kept by *pid*."""
    return [*_joined(node), 'nsenter', '--target', str(pid), '--mount',
            '--cgroup', '--uts', '--']


def clear(node: computes.Node) -> None:
    """Kills all processes of the node: guests, libvirtd, nova-compute."""
    deadline = time.monotonic() + _PATIENCE
    while (tasks := set(_tasks(node))) and time.monotonic() < deadline:
        for task in tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(task, signal.SIGKILL)
        processes.reap()
        time.sleep(0.05)


def remove(node: computes.Node) -> None:
    """Removes the node's groups, in which nothing may run any more."""
    for root in _groups(node):
        cleanup.remove_cgroup(root)


def _hierarchies() -> list[pathlib.Path]:
    return [path for path in sorted(cleanup.CGROUPS.iterdir())
            if path.is_dir() and not path.is_symlink()
            and path.name != _UNIFIED]


def _groups(node: computes.Node) -> list[pathlib.Path]:
    paths = (path / node.group for path in _hierarchies())
    return [path for path in paths if path.exists()]


def _make_groups(node: computes.Node) -> None:
    for hierarchy in _hierarchies():
        path = hierarchy / node.group
        path.mkdir(exist_ok=True)
        for name in ('cpuset.cpus', 'cpuset.mems'):
            if (hierarchy / name).exists():
                (path / name).write_text((hierarchy / name).read_text())
        pool = path / 'cpu.rt_runtime_us'
        if pool.exists():
            _fill(pool, node)


def _fill(pool: pathlib.Path, node: computes.Node) -> None:
    try:
        pool.write_text(f'{node.pool_us}\n')
    except OSError as error:
        raise NoNode(f'cannot have {node.pool_us} us of each second, because '
                     'other groups hold too much of the pool: '
                     f'{error}') from error


def _joined(node: computes.Node) -> list[str]:
    tasks = f'{cleanup.CGROUPS}/*/{node.group}/tasks'
    return ['sh', '-euc', _JOIN.format(tasks=tasks), 'sh']


def _cgroup_mounts() -> tuple[list[str], list[str]]:
    """Returns the mounts to remove, the mount points and the hierarchies."""
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


def _binds(cloud: settings.Settings, node: computes.Node) -> list[str]:
    """Returns empty directories for libvirt, with no traces of other nodes."""
    own = directory(cloud, node)
    shutil.rmtree(own, ignore_errors=True)
    _configure_libvirt(cloud, node)
    private = dict(enumerate(cleanup.LIBVIRT_DIRECTORIES))
    binds = [*libvirtd.binds(cloud, libvirt_etc(cloud, node)),
             *_known_hosts(cloud)]
    if cloud.pair:
        private[len(private)] = cloud.data / f'instances-{node.guest}'
    for number, path in private.items():
        (own / str(number)).mkdir()
        path.mkdir(parents=True, exist_ok=True)
        binds += [str(own / str(number)), str(path)]
    return binds


def _configure_libvirt(cloud: settings.Settings, node: computes.Node
                       ) -> None:
    etc = libvirt_etc(cloud, node)
    shutil.copytree(libvirtd.configuration(cloud), etc)
    own = {'libvirtd.conf': ('host_uuid', uuid.uuid4()),
           'qemu.conf': ('migration_address', node.address)}
    for name, (key, value) in own.items():
        with (etc / name).open('a') as file:
            file.write(f'{key} = "{value}"\n')


def _known_hosts(cloud: settings.Settings) -> list[str]:
    """Writes the names of the nodes; libvirt needs them for migrations."""
    original = pathlib.Path('/etc/hosts')
    extended = cloud.etc / original.name
    names = (f'{node.address} {node.host_name}\n' for node in cloud.nodes)
    extended.write_text(f'{original.read_text()}\n{"".join(names)}')
    return [str(extended), str(original)]


def _tasks(node: computes.Node) -> Iterator[int]:
    for root in _groups(node):
        # Groups come and go meanwhile; os.walk ignores that.
        for below, _, _ in os.walk(root):
            with contextlib.suppress(OSError):
                text = pathlib.Path(below, 'cgroup.procs').read_text()
                yield from map(int, text.split())
