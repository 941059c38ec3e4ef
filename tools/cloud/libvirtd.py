# SPDX-License-Identifier: Apache-2.0

"""Starts a libvirtd if the machine runs none, and ends the cloud's domains.

The module knows the names and the directory of Nova's domains, and nothing
else of Nova.
"""

import pathlib
import socket
import struct
import time

import libvirt
from lxml import etree

from cloud import guests
from cloud import processes
from cloud import settings

SOCKETS = ('/run/libvirt/libvirt-sock',
           *(kind.modular_socket for kind in guests.KINDS.values()))
# The state of running domains that libvirt keeps over its own restarts.
RUN = pathlib.Path('/run/libvirt')
# Debian and other distributions have different library directories.
DRIVERS = 'lib*/**/libvirt/connection-driver'
# The driver that lists the PCI devices of the machine, and their directory.
NODE_DEVICES = 'libvirt_driver_nodedev.so'
PCI_DEVICES = '/sys/bus/pci/devices'
# libvirt_lxc cannot make a container on a machine that has both versions of
# cgroups, so it sees only version 1.
PREPARE = ('if mountpoint -q /sys/fs/cgroup/unified; '
           'then umount /sys/fs/cgroup/unified; fi; '
           'while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; '
           'shift; exec "$@"')
# The QEMU driver does not start without this user, even if qemu.conf names
# another one.  The ids are Debian's; many machines do not have the user.
QEMU_USER = {'passwd': 'libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n',
             'group': 'libvirt-qemu:x:64055:\n'}


def process(cloud: settings.Settings) -> processes.Process:
    """Returns the record of the libvirtd that this cloud started, if any."""
    return processes.Process(cloud.run / 'libvirtd.pid')


def running_pid() -> int | None:
    """Returns the pid behind libvirt's socket, whoever started it."""
    for path in SOCKETS:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
            except OSError:
                continue
            credentials = client.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i'))
            return int(struct.unpack('3i', credentials)[0])
    return None


def answers(path: str) -> bool:
    """Returns whether a libvirtd listens on this socket."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def start(cloud: settings.Settings) -> None:
    """Starts libvirtd in a mount namespace of its own.

    This keeps the mounts for containers out of the machine's namespace.  Nova
    must be started in the same namespace, see inside().
    """
    process(cloud).start(
        ['unshare', '--mount', '--propagation', 'slave',
         'sh', '-ec', PREPARE, 'sh', *binds(cloud, configuration(cloud)), '--',
         *command(configuration(cloud), cloud.run)],
        {**cloud.environment(), **environment(cloud)},
        cloud.log_file('libvirtd'))


def command(etc: pathlib.Path, run: pathlib.Path) -> list[str]:
    """Returns the command of libvirtd, with its pid file in *run*."""
    return ['libvirtd', '--config', str(etc / 'libvirtd.conf'),
            '--pid-file', str(run / 'libvirtd.own-pid')]


def environment(cloud: settings.Settings) -> dict[str, str]:
    """Returns the variables that only libvirtd needs."""
    return {'LIBVIRT_DRIVER_DIR': _driver_dir(cloud)}


def configuration(cloud: settings.Settings) -> pathlib.Path:
    """Returns the directory of libvirt's rendered files."""
    return cloud.etc / 'libvirt'


def binds(cloud: settings.Settings, etc: pathlib.Path) -> list[str]:
    """Returns our directories, each with the one that it hides from libvirtd.

    libvirtd then writes nothing to the machine's own directories.

    :param etc: the directory of libvirt's configuration
    """
    binds = [str(etc), '/etc/libvirt']
    for name, line in QEMU_USER.items():
        original = pathlib.Path('/etc', name)
        text = original.read_text()
        if f'\n{line.partition(":")[0]}:' not in text:
            extended = cloud.etc / name
            extended.write_text(text + line)
            binds += [str(extended), str(original)]
    return binds


def _driver_dir(cloud: settings.Settings) -> str:
    """Makes a directory with only the drivers that the cloud needs.

    A driver that is installed but cannot start, such as QEMU's without its
    user or its binaries, would end libvirtd.
    """
    directory = cloud.run / 'libvirt-drivers' / cloud.guest
    directory.mkdir(parents=True, exist_ok=True)
    for name in drivers(cloud.kind, pathlib.Path(PCI_DEVICES)):
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(next(pathlib.Path('/usr').glob(
                f'{DRIVERS}/{name}')))
    return str(directory)


def drivers(kind: guests.Kind, devices: pathlib.Path) -> list[str]:
    """Returns the drivers of libvirt that a cloud needs.

    :param kind: the guests of the cloud
    :param devices: the directory of the PCI devices; with virtual functions,
        Nova asks libvirt for these devices
    """
    if any(devices.glob('*/physfn')):
        return [kind.driver, NODE_DEVICES]
    return [kind.driver]


def wait(cloud: settings.Settings, patience: float) -> int:
    """Returns the pid of libvirtd as soon as libvirtd answers."""
    deadline = time.monotonic() + patience
    while (pid := running_pid()) is None:
        if process(cloud).pid is None or time.monotonic() > deadline:
            raise TimeoutError('libvirtd does not answer')
        time.sleep(0.05)
    return pid


def foreign_cloud(cloud: settings.Settings, pid: int) -> str | None:
    """Returns the directory of the other cloud to which libvirtd belongs."""
    owner = processes.variable(pid, settings.MARK_VARIABLE)
    return None if owner == str(cloud.directory) else owner


def inside(pid: int) -> list[str]:
    """Returns the command prefix that enters libvirtd's mount namespace.

    Nova mounts a container's root there, and libvirt_lxc must see it.  Other
    kinds of guests use the prefix to see the same files.
    """
    return ['nsenter', '--target', str(pid), '--mount']


def has_domain_files(cloud: settings.Settings) -> bool:
    """Returns whether libvirt would find domains of an embedded cloud."""
    return any(path for directory in (configuration(cloud), RUN)
               for path in directory.glob(
                   f'{cloud.kind.daemon}/{settings.DOMAIN_PREFIX}*.xml'))


def domain_names(cloud: settings.Settings) -> list[str]:
    """Returns the names of the cloud's domains."""
    connection = libvirt.openReadOnly(cloud.kind.uri)
    try:
        return [domain.name() for domain in _domains(connection, cloud)]
    finally:
        connection.close()


def remove_domains(cloud: settings.Settings) -> int:
    """Destroys and undefines every domain of this cloud."""
    connection = libvirt.open(cloud.kind.uri)
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
    """Returns whether the domain's root or disk is in this directory."""
    tree = etree.fromstring(domain.XMLDesc())
    return any(
        pathlib.Path(source.get('dir') or source.get('file') or '/')
        .is_relative_to(directory)
        for device in ('filesystem', 'disk')
        for source in tree.iterfind(f'devices/{device}/source'))


def _remove(domain: libvirt.virDomain) -> None:
    persistent = domain.isPersistent()
    if domain.isActive():
        _destroy(domain)
    if persistent:
        domain.undefine()


def _destroy(domain: libvirt.virDomain) -> None:
    try:
        domain.destroy()
    except libvirt.libvirtError as error:
        # The domain has ended meanwhile: a new libvirtd may end old domains.
        if error.get_error_code() != libvirt.VIR_ERR_OPERATION_INVALID:
            raise
