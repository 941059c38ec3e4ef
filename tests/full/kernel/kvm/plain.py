# SPDX-License-Identifier: Apache-2.0

"""Guests without libvirt, in groups as libvirt makes them.

Such guests start at once, where libvirtd takes minutes.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Any, Self

from cloud import qemu_images

from tests.full.kernel.kvm import guest
from tests.full.kernel.kvm import rom
from tests.full.kernel import machines

_PATIENCE_SECONDS = 120
_POLL_SECONDS = 0.05
_QEMU = ('qemu-system-x86_64 -S -nodefaults -no-user-config -display none '
         '-machine pc -m 16 -name plain,debug-threads=on '
         '-object iothread,id=iothread1 '
         '-netdev tap,id=net,script=no,downscript=no,vhost=on '
         '-device virtio-net-pci,netdev=net')
#: The command line of a kernel that boots: without features that often leave
#: guest mode, which is slow if virtualization is emulated.
FEW_EXITS = 'pci=off mitigations=off tsc=reliable'
_ACCELERATORS = {'kvm': '-accel kvm -cpu host',
                 'tcg': '-accel tcg,thread=multi,tb-size=32'}


class Monitor:
    """The errors of QEMU's machine protocol."""

    def __init__(self, path: pathlib.Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + _PATIENCE_SECONDS
        while self._socket.connect_ex(str(path)):
            if time.monotonic() > end:
                raise TimeoutError('QEMU does not answer')
            time.sleep(_POLL_SECONDS)
        self._file = self._socket.makefile('rw')
        self._file.readline()
        self.ask('qmp_capabilities')

    def ask(self, command: str) -> Any:
        self._file.write(json.dumps({'execute': command}) + '\n')
        self._file.flush()
        while True:
            answer = json.loads(self._file.readline())
            if 'event' not in answer:
                return answer['return']

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Plain(guest.Guest):
    """One QEMU.

    :ivar monitor: to look how soon it answers
    """

    def __init__(self, qemu: subprocess.Popen[bytes], monitor: Monitor,
                 groups: tuple[pathlib.Path, ...]) -> None:
        self._qemu, self.monitor = qemu, monitor
        self.pid, self.groups = qemu.pid, groups

    def resume(self) -> None:
        self.monitor.ask('cont')

    def end(self) -> None:
        self.monitor.close()
        self._qemu.kill()
        self._qemu.wait()
        for group in self.groups:
            for path in (*group.iterdir(), group):
                if path.is_dir():
                    machines.remove(path)


class Maker(machines.Machines):
    """Starts guests, which need no network, no daemon and no disk."""

    def __init__(self, directory: pathlib.Path, cpus: tuple[int, ...],
                 accelerator: str) -> None:
        super().__init__()
        self._directory = directory
        self._accelerator = _ACCELERATORS[accelerator].split()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def launch(self, work: rom.Work, vcpus: int = 1) -> Plain:
        """A paused guest."""
        return self.start_with(
            vcpus, '-bios', str(rom.assemble(work, self._directory)))

    def start_with(self, vcpus: int, *words: str) -> Plain:
        """Starts a paused guest with these words for QEMU."""
        number = next(self._numbers)
        name = f'qemu-{number}-plain.libvirt-qemu'
        domains = tuple(self._make(top, name) for top in self.tops)
        groups = {name: [self._below(domain, name) for domain in domains]
                  for name in ('emulator', 'iothread1', *(
                      f'vcpu{vcpu}' for vcpu in range(vcpus)))}
        path = self._directory / f'{number}.qmp'

        def enter() -> None:
            for domain in domains:
                (domain / 'cgroup.procs').write_text(str(os.getpid()))
            self._put(os.getpid(), groups['emulator'])

        qemu = subprocess.Popen(
            [*_QEMU.split(), *self._accelerator, '-smp', str(vcpus),
             '-qmp', f'unix:{path},server=on,wait=off', *words],
            preexec_fn=enter, stdin=subprocess.DEVNULL)
        monitor = Monitor(path)
        for vcpu in monitor.ask('query-cpus-fast'):
            self._put(vcpu['thread-id'], groups[f'vcpu{vcpu["cpu-index"]}'])
        for thread in monitor.ask('query-iothreads'):
            self._put(thread['thread-id'], groups['iothread1'])
        return Plain(qemu, monitor, domains)

    def boot(self) -> tuple[Plain, pathlib.Path]:
        """Starts a paused guest that boots Debian's kernel, with a console."""
        busybox = pathlib.Path(shutil.which('busybox') or '')
        scratch = self.scratch()
        console = scratch / 'console'
        return self.boot_with(
            qemu_images.build_initrd(busybox, scratch),
            f'{qemu_images.COMMAND_LINES["qemu-busy"]} acpi=off {FEW_EXITS}',
            128, f'file:{console}'), console

    def scratch(self) -> pathlib.Path:
        """Makes a directory for one guest."""
        made = self._directory / f'boot-{next(self._numbers)}'
        made.mkdir()
        return made

    def boot_with(self, initrd: pathlib.Path, line: str, mib: int, serial: str
                  ) -> Plain:
        """Starts a paused guest that boots Debian's kernel with an initrd.

        :param line: the command line of the kernel
        :param mib: the memory of the guest
        :param serial: the serial device, as QEMU's option -serial takes it
        """
        return self.start_with(
            1, '-m', str(mib), '-kernel', str(qemu_images.KERNEL),
            '-initrd', str(initrd), '-append', line, '-serial', serial)

    def _put(self, thread: int, groups: list[pathlib.Path]) -> None:
        for group in groups:
            (group / ('cgroup.threads' if self.v2 else 'tasks')
             ).write_text(str(thread))
