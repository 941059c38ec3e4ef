# SPDX-License-Identifier: Apache-2.0

"""A Debian 12 with systemd in a container, for one DevStack.

It has a network of its own behind this machine's address, and shares the
kernel with its control groups: what nova-compute gives to a server there is
seen here.
"""

from collections.abc import Sequence
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from lab import apt

from tests.stack import shared

PACKAGES = ('ca-certificates', 'curl', 'dbus', 'dbus-user-session', 'git',
            'hostname', 'iproute2', 'iptables', 'kmod', 'lsb-release',
            'procps', 'python3', 'sudo', 'systemd', 'systemd-sysv', 'time')
PROGRAMS = ('ip', 'iptables', 'mmdebstrap', 'nsenter', 'systemd-nspawn')
DEVICES = ('/dev/loop-control', *(f'/dev/loop{n}' for n in range(8)),
           '/dev/fuse', '/dev/kvm', '/dev/net/tun')
#: Of the network between the two, and the last part of an address in it.
NETWORK = '10.213.0'
NAMESPACE = 'nova-rt-stack'
FORWARD = pathlib.Path('/proc/sys/net/ipv4/ip_forward')
PATIENCE_SECONDS = 60
CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

_SUITES = ('bookworm', 'bookworm-updates')
# The control groups of version 1 come without the right to write.
_WRITABLE = """
mount -o remount,rw /sys/fs/cgroup
for each in /sys/fs/cgroup/*; do
    mountpoint -q $each && mount -o remount,rw,bind $each
done
true
"""
_UNIT = """[Unit]
DefaultDependencies=no
Before=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh /etc/writable.sh
[Install]
WantedBy=sysinit.target
"""


def lacking() -> str:
    """Returns why no container can be had here; '' where one can."""
    if os.geteuid():
        return 'only root may start a container of systemd'
    for name in PROGRAMS:
        if shutil.which(name) is None:
            return f'{name} is not installed'
    return ''


class Container:
    """One at a time: its network has a fixed name.

    :param directory: for the Debian; kept, so that a later run is shorter
    :param share: the directory that is /srv/share in the container
    """

    def __init__(self, directory: pathlib.Path, share: pathlib.Path) -> None:
        self.root = directory / 'root'
        self.log = directory / 'container.log'
        self.share = share
        self._nspawn: subprocess.Popen[bytes] | None = None
        #: What net.ipv4.ip_forward was; '' for never touched.
        self._forwarded = ''
        self._shared: shared.Shared | None = None

    def build(self) -> None:
        """Builds the Debian system again."""
        shutil.rmtree(self.root, ignore_errors=True)
        mirror = apt.mirror()
        sources = [f'deb {mirror} {suite} main' for suite in _SUITES]
        subprocess.run(
            ['mmdebstrap', '--quiet', '--variant=apt', '--mode=root',
             f'--include={",".join(PACKAGES)}', 'bookworm', self.root,
             *sources], check=True)
        self._write('etc/apt/apt.conf.d/90less',
                    'APT::Install-Recommends "false";\n')
        self._write('etc/writable.sh', _WRITABLE)
        self._write('etc/systemd/system/writable.service', _UNIT)
        wants = self.root / 'etc/systemd/system/sysinit.target.wants'
        wants.mkdir(parents=True, exist_ok=True)
        (wants / 'writable.service').symlink_to('../writable.service')
        shutil.copy(CERTIFICATES, self.root / CERTIFICATES[1:])
        self._write('etc/pip.conf', pip_settings())

    def _write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def start(self) -> None:
        self._shared = shared.Shared()
        self._connect()
        devices = [f'--bind={device}' for device in DEVICES
                   if os.path.exists(device)]
        with self.log.open('wb') as log:
            self._nspawn = subprocess.Popen(
                ['systemd-nspawn', '--register=no', '--keep-unit', '--boot',
                 f'--directory={self.root}', '--capability=all',
                 '--link-journal=no', '--resolv-conf=copy-host',
                 f'--network-namespace-path=/run/netns/{NAMESPACE}',
                 '--hostname=devstack', *devices,
                 f'--bind={self.share}:/srv/share'],
                env={**os.environ, 'SYSTEMD_NSPAWN_API_VFS_WRITABLE': '1'},
                stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
        self._await()

    def _await(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._system() not in ('running', 'degraded'):
            if time.monotonic() > deadline:
                raise RuntimeError(f'never up: see {self.log}')
            time.sleep(0.5)

    def _system(self) -> str:
        if not self._init():
            return ''
        return self.run('systemctl is-system-running', check=False).strip()

    def _init(self) -> int | None:
        """The process that is the first one in there, once there is one."""
        assert self._nspawn is not None
        children = pathlib.Path(f'/proc/{self._nspawn.pid}/task/'
                                f'{self._nspawn.pid}/children')
        found = children.read_text().split()
        return int(found[0]) if found else None

    def run(self, script: str, user: str = 'root', check: bool = True) -> str:
        """Returns the output of a command, both streams.

        :raises RuntimeError: when the command fails
        """
        # No pipe: what a script leaves in the background would hold it open.
        with tempfile.TemporaryFile('w+', errors='replace') as printed:
            done = subprocess.run(
                [*self._enter(), 'su', '-', user, '-c', script],
                stdin=subprocess.DEVNULL, stdout=printed,
                stderr=subprocess.STDOUT)
            printed.seek(0)
            text = printed.read()
        if check and done.returncode:
            raise RuntimeError(f'{script}: exit status {done.returncode}:\n'
                               f'{text[-8000:]}')
        return text

    def _enter(self) -> Sequence[str]:
        return ['nsenter', '-t', str(self._init()), '-a', 'env', '-i',
                'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']

    def stop(self) -> None:
        if self._nspawn is not None:
            self.run('systemctl poweroff', check=False)
            self._nspawn.wait(PATIENCE_SECONDS)
        self._disconnect()
        if self._shared is not None:
            self._shared.give_back()

    def _connect(self) -> None:
        self._disconnect()
        ip = ('ip', '-n', NAMESPACE)
        for command in (
                ('ip', 'netns', 'add', NAMESPACE),
                ('ip', 'link', 'add', 'rt-stack', 'type', 'veth', 'peer',
                 'name', 'eth0', 'netns', NAMESPACE),
                ('ip', 'addr', 'add', f'{NETWORK}.1/24', 'dev', 'rt-stack'),
                ('ip', 'link', 'set', 'rt-stack', 'up'),
                (*ip, 'addr', 'add', f'{NETWORK}.2/24', 'dev', 'eth0'),
                (*ip, 'link', 'set', 'lo', 'up'),
                (*ip, 'link', 'set', 'eth0', 'up'),
                (*ip, 'route', 'add', 'default', 'via', f'{NETWORK}.1'),
                (*_NAT, '-A', *_RULE)):
            subprocess.run(command, check=True)
        self._forwarded = FORWARD.read_text()
        FORWARD.write_text('1')

    def _disconnect(self) -> None:
        if self._forwarded:
            FORWARD.write_text(self._forwarded)
        for command in (('ip', 'netns', 'delete', NAMESPACE),
                        ('ip', 'link', 'delete', 'rt-stack'),
                        (*_NAT, '-D', *_RULE)):
            subprocess.run(command, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)


_NAT = ('iptables', '-t', 'nat')
_RULE = ('POSTROUTING', '-s', f'{NETWORK}.0/24', '-j', 'MASQUERADE')


def pip_settings() -> str:
    """Returns this machine's pip settings, which are not our concern."""
    done = subprocess.run(['python3', '-m', 'pip', 'config', 'list'],
                          capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition('=')
        key = name.rpartition('.')[2].removeprefix('default-')
        if key in ('cert', 'timeout', 'index-url', 'trusted-host'):
            found[key] = value.strip("'")
    return '\n'.join(['[global]', *(f'{key} = {value}' for key, value
                                    in found.items()), ''])
