# SPDX-License-Identifier: Apache-2.0

"""Real guests of libvirt on a real kernel, reserved by the product's enforcer.

A container and a virtual machine that are always busy start beside an ordinary
task on the same pCPU, get a reservation, another one, company, and lose all.
As root, on a host without libvirtd::

    python -m tests.full.kernel.domains --tolerance 0.05
"""

import argparse
from collections.abc import Iterator
import contextlib
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import libvirt

from tests.full.kernel import host as hosts

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / 'tools'))

from cloud import guests as cloud_guests  # noqa: E402
from cloud import libvirtd  # noqa: E402
from cloud import lifecycle  # noqa: E402
from cloud import lxc_images  # noqa: E402
from cloud import qemu_images  # noqa: E402
from cloud import settings  # noqa: E402
from demo import groups  # noqa: E402
from demo import guests  # noqa: E402

#: The default; guests of KVM have tests of their own.
_KINDS = ('lxc', 'qemu')
_SECONDS = 4.0
_LXC = """<domain type='lxc'><name>{name}</name>
<memory unit='MiB'>64</memory><vcpu>1</vcpu>
<os><type>exe</type><init>/sbin/init</init></os><devices>
<filesystem type='mount'><source dir='{root}'/><target dir='/'/></filesystem>
<console type='pty'/></devices></domain>"""
_QEMU = """<domain type='qemu'><name>{name}</name>
<memory unit='MiB'>128</memory><vcpu>1</vcpu>
<cputune><vcpupin vcpu='0' cpuset='0'/></cputune>
<os><type arch='x86_64' machine='pc'>hvm</type>
<kernel>{kernel}</kernel><cmdline>no_timer_check panic=0</cmdline></os>
<devices><memballoon model='none'/></devices></domain>"""
_BUSY = 'while :; do :; done'


class Domains:
    """A separate libvirtd and its guests of one kind."""

    def __init__(self, kind: str, directory: pathlib.Path) -> None:
        self.kind, self.look = cloud_guests.KINDS[kind], guests.KINDS[kind]
        self.directory = directory
        self.cloud = settings.Settings(directory, 15000, True, kind)
        lifecycle.prepare(self.cloud, ())
        libvirtd.start(self.cloud)
        libvirtd.wait(self.cloud, settings.patience(
            lifecycle.LIBVIRTD_PATIENCE))
        self.connection = libvirt.open(self.kind.uri)

    def start(self, name: str) -> 'Domain':
        """Starts a guest, paused where possible, before its code has run."""
        name = f'{settings.DOMAIN_PREFIX}{name}'
        if self.kind.virt_type == 'lxc':
            xml = _LXC.format(name=name, root=self._root(name))
        else:
            xml = _QEMU.format(name=name, kernel=qemu_images.KERNEL)
        paused = (0 if self.kind.virt_type == 'lxc'
                  else libvirt.VIR_DOMAIN_START_PAUSED)
        return Domain(self, self.connection.createXML(xml, paused))

    def _root(self, name: str) -> pathlib.Path:
        root = self.directory / name
        if not root.exists():
            lxc_images.fill(root, lxc_images.INITTABS['lxc-busy'], [
                pathlib.Path(shutil.which('busybox') or '')])
        return root

    def close(self) -> None:
        self.connection.close()
        lifecycle.down(self.cloud, False)


class Domain:
    """A guest that runs."""

    def __init__(self, domains: Domains, domain: libvirt.virDomain) -> None:
        self._domains, self.domain = domains, domain

    @property
    def pid(self) -> int:
        """Returns the pid of the process that keeps the guest."""
        if self._domains.kind.virt_type == 'lxc':
            return int(self.domain.ID())
        path = libvirtd.RUN / 'qemu' / f'{self.domain.name()}.pid'
        return int(path.read_text())

    @property
    def busy(self) -> pathlib.Path:
        """The group of the busy tasks of the guest."""
        look = self._domains.look
        group, = (groups.tree('cpu') / 'machine').glob(
            look.group.format(self.domain.name()))
        return group / 'vcpu0' if look.vcpu_groups else group

    def policies(self) -> set[int]:
        """Returns the policies of the threads with a reservation."""
        keeper = set() if self._domains.look.vcpu_groups else {
            int(task) for task in os.listdir(f'/proc/{self.pid}/task')}
        return {os.sched_getscheduler(task)
                for task in groups.tasks(self.busy) if task not in keeper}


class Trial:
    """The steps that were tried on one kind of guests, and the shares.

    :ivar shares: (step, wanted, found)
    :ivar wrong: sentences
    """

    def __init__(self, domains: Domains) -> None:
        host = hosts.Host.find()
        self.domains = domains
        self.interface, self.enforcer = host.interface, host.enforcer
        self.shares: list[tuple[str, float, float]] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        self.enforcer.guard()
        first = self._start('first', 40_000, 100_000)
        self._measure('start', {first: 0.4})
        self._apply(first, 60_000, 200_000)
        self._measure('resize', {first: 0.3})
        second = self._start('second', 45_000, 100_000)
        self._measure('company', {first: 0.3, second: 0.45})
        second.domain.destroy()
        self.enforcer.settle()
        self._apply(first, 160_000, 200_000)
        self._measure('all of it', {first: 0.8})
        self.enforcer.release(first.pid)
        if first.policies() != {os.SCHED_OTHER}:
            self.wrong.append('released, and still real-time')
        self._expect_none('released')
        self._apply(first, 20_000, 100_000)
        self._measure('again', {first: 0.2})
        first.domain.destroy()
        self.enforcer.settle()
        self._expect_none('destroyed')

    def _start(self, name: str, runtime_us: int, period_us: int) -> Domain:
        self._tell(name)
        started = self.domains.start(name)
        self._apply(started, runtime_us, period_us)
        if self.domains.kind.virt_type != 'lxc':
            started.domain.resume()
        return started

    def _apply(self, guest: Domain, runtime_us: int, period_us: int) -> None:
        claim = hosts.claim(runtime_us, period_us, 0)
        self.enforcer.apply(guest.pid, claim)
        if not self.enforcer.holds(guest.pid, claim):
            self.wrong.append(f'{claim.identifier[36:]} is not held')
        if guest.policies() != {os.SCHED_RR}:
            self.wrong.append(f'policies {guest.policies()}')

    def _measure(self, step: str, wanted: dict[Domain, float]) -> None:
        self._tell(step)
        with contextlib.ExitStack() as stack:
            handles = {guest: groups.open_usage(guest.busy)
                       for guest in wanted}
            for handle in handles.values():
                stack.callback(os.close, handle)
            begin = time.monotonic_ns()
            before = {guest: groups.usage_ns(handles[guest])
                      for guest in wanted}
            time.sleep(_SECONDS)
            for guest, share in wanted.items():
                used = groups.usage_ns(handles[guest]) - before[guest]
                self.shares.append((step, share, round(
                    used / (time.monotonic_ns() - begin), 4)))

    @staticmethod
    def _tell(*what: object) -> None:
        """Prints each step at once: nothing else is left if the host dies."""
        print(f'{time.monotonic():.3f}', *what, file=sys.stderr, flush=True)

    def _expect_none(self, when: str) -> None:
        held = self.interface.read('/machine')
        if held is not None:
            self.wrong.append(f'{when}, and /machine holds {held}')


@contextlib.contextmanager
def _noise() -> Iterator[None]:
    """Runs an ordinary busy task on the pCPU of all guests."""
    with subprocess.Popen(['sh', '-c', _BUSY]) as busy:
        os.sched_setaffinity(busy.pid, {0})
        try:
            yield
        finally:
            busy.kill()


def trial(kind: str) -> Trial:
    with tempfile.TemporaryDirectory(prefix='nova-rt-domains-') as scratch:
        domains = Domains(kind, pathlib.Path(scratch, 'cloud'))
        try:
            tried = Trial(domains)
            with _noise():
                tried.run()
        finally:
            domains.close()
    return tried


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tolerance', type=float, default=0.05)
    parser.add_argument('--guest', choices=guests.KINDS, action='append')
    args = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    found = {kind: trial(kind) for kind in args.guest or _KINDS}
    print(json.dumps({kind: {
        'interface': tried.interface.name, 'shares': tried.shares,
        'worst': max(abs(share - wanted)
                     for _, wanted, share in tried.shares),
        'wrong': tried.wrong} for kind, tried in found.items()}, indent=1))
    return int(any(tried.wrong or any(
        abs(share - wanted) > args.tolerance
        for _, wanted, share in tried.shares) for tried in found.values()))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
