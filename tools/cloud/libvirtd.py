# SPDX-License-Identifier: Apache-2.0

"""Our own libvirtd, if the machine runs none, and the domains of the cloud.

Knows nothing of Nova beyond the name and the directory of its domains.
"""

import pathlib
import socket
import struct
import time

import libvirt
from lxml import etree

from cloud import processes
from cloud import settings

URI = 'lxc:///'
SOCKETS = (pathlib.Path('/run/libvirt/libvirt-sock'),
           pathlib.Path('/run/libvirt/virtlxcd-sock'))
# Debian and others put it into different library directories.
LXC_DRIVER = 'lib*/**/libvirt/connection-driver/libvirt_driver_lxc.so'
# libvirt_lxc cannot make a container on a machine that has both versions of
# cgroups; it is shown the first only.
HIDE_CGROUP_V2 = ('if mountpoint -q /sys/fs/cgroup/unified; '
                  'then umount /sys/fs/cgroup/unified; fi; exec "$@"')
# Where libvirt keeps defined and running domains between its own restarts.
DOMAIN_FILES = (pathlib.Path('/etc/libvirt/lxc'),
                pathlib.Path('/run/libvirt/lxc'))


def process(cloud: settings.Settings) -> processes.Process:
    """The libvirtd that we started, if we did."""
    return processes.Process(cloud.run / 'libvirtd.pid')


def running_pid() -> int | None:
    """The pid behind libvirt's socket, whoever started it."""
    for path in SOCKETS:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
            except OSError:
                continue
            credentials = client.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i'))
            return int(struct.unpack('3i', credentials)[0])
    return None


def start(cloud: settings.Settings) -> None:
    """Start libvirtd in a mount namespace of its own.

    Mounts made for containers then stay out of the machine's namespace;
    Nova has to be started in the same one, see inside().
    """
    process(cloud).start(
        ['unshare', '--mount', '--propagation', 'slave',
         'sh', '-c', HIDE_CGROUP_V2, 'sh', 'libvirtd',
         '--config', str(cloud.etc / 'libvirt' / 'libvirtd.conf'),
         '--pid-file', str(cloud.run / 'libvirtd.own-pid')],
        {**cloud.environment(), 'LIBVIRT_DRIVER_DIR': _driver_dir(cloud)},
        cloud.log_file('libvirtd'))


def _driver_dir(cloud: settings.Settings) -> str:
    """A directory with nothing but the LXC driver.

    A driver that is installed but cannot start, as QEMU's without its user
    or its binaries, would end libvirtd.
    """
    directory = cloud.run / 'libvirt-drivers'
    directory.mkdir(exist_ok=True)
    link = directory / 'libvirt_driver_lxc.so'
    if not link.is_symlink():
        link.symlink_to(next(pathlib.Path('/usr').glob(LXC_DRIVER)))
    return str(directory)


def wait(cloud: settings.Settings, patience: float) -> int:
    """The pid of libvirtd once it answers."""
    deadline = time.monotonic() + patience
    while (pid := running_pid()) is None:
        if process(cloud).pid is None or time.monotonic() > deadline:
            raise TimeoutError('libvirtd does not answer')
        time.sleep(0.05)
    return pid


def foreign_cloud(cloud: settings.Settings, pid: int) -> str | None:
    """The directory of another embedded cloud that libvirtd belongs to."""
    owner = processes.variable(pid, settings.MARK_VARIABLE)
    return None if owner == str(cloud.directory) else owner


def inside(pid: int) -> list[str]:
    """The command prefix that enters libvirtd's mount namespace.

    Nova mounts a container's root there, and libvirt_lxc must see it.
    """
    return ['nsenter', '--target', str(pid), '--mount']


def has_domain_files() -> bool:
    """Whether libvirt would find domains of an embedded cloud."""
    return any(path for directory in DOMAIN_FILES
               for path in directory.glob(f'{settings.DOMAIN_PREFIX}*.xml'))


def domain_names(cloud: settings.Settings) -> list[str]:
    connection = libvirt.openReadOnly(URI)
    try:
        return [domain.name() for domain in _domains(connection, cloud)]
    finally:
        connection.close()


def remove_domains(cloud: settings.Settings) -> int:
    """Destroy and undefine every domain of this cloud."""
    connection = libvirt.open(URI)
    try:
        domains = _domains(connection, cloud)
        for domain in domains:
            _remove(domain)
        return len(domains)
    finally:
        connection.close()


def _domains(connection: libvirt.virConnect,
             cloud: settings.Settings) -> list[libvirt.virDomain]:
    return [domain for domain in connection.listAllDomains()
            if domain.name().startswith(settings.DOMAIN_PREFIX)
            and _is_below(domain, cloud.directory)]


def _is_below(domain: libvirt.virDomain, directory: pathlib.Path) -> bool:
    """Whether the domain's root file system lies in this directory."""
    tree = etree.fromstring(domain.XMLDesc())
    return any(
        pathlib.Path(source.get('dir', '/')).is_relative_to(directory)
        for source in tree.iterfind('devices/filesystem/source'))


def _remove(domain: libvirt.virDomain) -> None:
    persistent = domain.isPersistent()
    if domain.isActive():
        domain.destroy()
    if persistent:
        domain.undefine()
