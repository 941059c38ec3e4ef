# SPDX-License-Identifier: Apache-2.0

"""Checks whether this process sees the tasks and groups of the host.

A process in a PID namespace of its own does not see the tasks of other
namespaces in the task lists of groups, so that a busy group looks idle.  For a
process in a cgroup namespace of its own, the paths in /proc match no mount.
The checks test what the process sees, and do not compare the numbers of
namespaces: another namespace may show the same tasks and groups, and the host
may hide its tasks without a namespace.
"""

from collections.abc import Iterator
import posixpath
import socket
import struct

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import proc
from nova_rt.rules import exception

#: The kernel thread that starts all others.  It is in the PID namespace of the
#: host and in the root group of each hierarchy, and cannot be moved
#: (cgroup_init_kthreadd(), since Linux 4.11).
KTHREADD = 2
MOUNTINFO = '/proc/self/mountinfo'
STATUS = '/proc/self/status'
#: The sockets of the libvirt daemons that have guests.
SOCKETS = tuple(f'/run/libvirt/{name}-sock'
                for name in ('libvirt', 'virtqemud', 'virtlxcd'))
#: The structure of pid, uid and gid (unix(7)).
_CREDENTIALS = struct.Struct('3i')
#: The controllers whose files are read or written for guests.
_CONTROLLERS = ('cpu', 'cpuset')


def verify(host: host_files.Host) -> None:
    """Checks that this process sees the tasks and groups of the host.

    :raises OutsideHost: when this process does not see them
    """
    reason = trouble(host)
    if reason:
        raise exception.OutsideHost(reason=reason)


def trouble(host: host_files.Host) -> str:
    """Returns why this process does not see the host; '' if it does."""
    try:
        return _pid_namespace_problem(host) or _cgroup_namespace_problem(host)
    except OSError as error:
        return f'{error.filename}: {host_files.why(error)}'
    except (ValueError, IndexError) as error:
        return f'the check failed: {exception.clause(error)}'


def _pid_namespace_problem(host: host_files.Host) -> str:
    if not _is_own_proc(host):
        return ('/proc belongs to another PID namespace than the process '
                '(mount a /proc in the PID namespace of the host)')
    try:
        kthreadd = proc.task(host, KTHREADD)
    except (FileNotFoundError, PermissionError):
        kthreadd = None
    if kthreadd is None or not kthreadd.kernel:
        return ('/proc shows no kernel thread, so the process has a PID '
                'namespace of its own (containers: set pid_mode host), or '
                '/proc is mounted with hidepid')
    return ''


def _is_own_proc(host: host_files.Host) -> bool:
    """Checks if /proc has the ids that system calls of this process use."""
    for line in host.read(STATUS).splitlines():
        name, _, ids = line.partition(':')
        if name == 'NSpid':
            return len(ids.split()) == 1
    return True  # The kernel has no PID namespaces.


def _cgroup_namespace_problem(host: host_files.Host) -> str:
    mounts = _mounts(host)
    for controller, group in _roots(host):
        if group != '/' and not _beside_libvirt(host):
            return ('the process has a cgroup namespace of its own '
                    '(containers: set cgroupns_mode host)')
        name = f'controller {controller}' if controller else 'version 2'
        point, root = mounts.get(controller, ('', ''))
        if host.optional(posixpath.join(point, 'cgroup.procs')) is None:
            return f'cgroup {name} is not mounted here ({_ADVICE})'
        if root != '/':
            return (f'{point} shows only the part {root} of cgroup {name} '
                    f'({_ADVICE})')
    return ''


def _beside_libvirt(host: host_files.Host) -> bool:
    """Checks if libvirt's daemon has the cgroup namespace of this process.

    If so, all guests are below the groups that both see.

    :returns: False if this is not known
    """
    pid = libvirt_pid()
    if pid is None:
        return False
    try:
        return host.inode(f'/proc/{pid}/ns/cgroup') == host.inode(
            '/proc/self/ns/cgroup')
    except OSError:
        return False


def libvirt_pid() -> int | None:
    """Returns the pid behind libvirt's socket; None if nobody answers."""
    for path in SOCKETS:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
            except OSError:
                continue
            credentials = client.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            return int(_CREDENTIALS.unpack(credentials)[0])
    return None


_ADVICE = 'containers: mount /sys/fs/cgroup of the host as a volume'


def _roots(host: host_files.Host) -> Iterator[tuple[str, str]]:
    """Yields each controller ('' for v2), and the group of KTHREADD in it."""
    text = host.read(f'/proc/{KTHREADD}/task/{KTHREADD}/cgroup')
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, group = line.split(':', 2)
        groups |= dict.fromkeys(controllers.split(','), group)
    for name in dict.fromkeys(name if name in groups else ''
                              for name in _CONTROLLERS):
        if name in groups:  # Otherwise the host mounts no cgroup v2.
            yield name, groups[name]


def _mounts(host: host_files.Host) -> dict[str, tuple[str, str]]:
    """Returns (mount point, mounted group) by v1 controller; '' for v2.

    If a controller has several mount points, the first one counts.  If several
    groups were mounted at this point, the last one counts.
    """
    mounts: dict[str, tuple[str, str]] = {}
    for line in host.read(MOUNTINFO).splitlines():
        head, _, tail = line.partition(' - ')
        root, point = head.split(' ')[3:5]
        kind, _, options = tail.split(' ', 2)
        for name in (options.split(',') if kind == 'cgroup' else
                     [''] if kind == 'cgroup2' else ()):
            if mounts.setdefault(name, (point, root))[0] == point:
                mounts[name] = point, root
    return mounts
