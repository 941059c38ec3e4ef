# SPDX-License-Identifier: Apache-2.0

"""A guest that runs rt-probe, with the Python of the system of the host.

The host sends lines over the serial port: the number of busy loops, and the
options of ``rt-probe once``, if rt-probe is to run.  The guest answers each
line with a line: the report, or the word *busy*.
"""

import json
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Any, Self

from cloud import qemu_images
from rt_probe import bundle
from tests.full.kernel.kvm import plain

_PYTHON = pathlib.Path('/usr/bin/python3').resolve()
_LIBRARY = pathlib.Path('/usr/lib') / _PYTHON.name
#: The probe imports none of these.
_UNUSED = shutil.ignore_patterns(
    'test', 'idlelib', 'lib2to3', 'ensurepip', 'distutils', 'tkinter',
    'pydoc_data', 'config-*', 'asyncio', 'unittest', 'sqlite3',
    'dist-packages', '*.opt-?.pyc')
#: With ACPI, because the guest needs the timer of its local APIC.  The older
#: timer is served by an ordinary thread of the host's kernel, so the guest
#: loses its ticks if its vCPU is the only real-time task of a busy pCPU.
_LINE = f'console=ttyS0 quiet loglevel=0 no_timer_check {plain.FEW_EXITS}'
_MEMORY_MIB = 320
_INIT = f'''#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t cgroup2 cgroup /sys/fs/cgroup
$busybox mount -t devtmpfs dev /dev
$busybox stty -F /dev/ttyS0 -echo
exec < /dev/ttyS0 > /dev/ttyS0 2>&1
loads=
echo busy
while read -r count options; do
    [ -z "$loads" ] || kill $loads
    loads=
    while [ "$count" -gt 0 ]; do
        (while :; do :; done) &
        loads="$loads $!"
        count=$((count - 1))
    done
    if [ -n "$options" ]; then
        {_PYTHON} -I -S /rt-probe.pyz once $options
    else
        echo busy
    fi
done
'''
_PATIENCE_SECONDS = 900
_POLL_SECONDS = 0.05


class Python:
    """A guest with one vCPU.

    :ivar guest: the guest as the host sees it
    """

    def __init__(self, maker: plain.Maker) -> None:
        scratch = maker.scratch()
        path = scratch / 'serial'
        self.guest = maker.boot_with(
            _initrd(scratch), _LINE, _MEMORY_MIB,
            f'unix:{path},server=on,wait=off')
        self._serial = _connected(path)
        self._lines = self._serial.makefile('r')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._serial.close()
        self.guest.end()

    def wait(self) -> None:
        """Waits until the guest has started, or keeps its vCPU busy."""
        if (line := self._line().strip()) != 'busy':
            raise RuntimeError(f'the guest says {line!r}')

    def spin(self, loads: int) -> None:
        """Runs so many busy loops, and no probe."""
        self._send(loads, ())
        self.wait()

    def probe(self, loads: int, options: tuple[str, ...]
              ) -> tuple[dict[str, Any], float]:
        """Runs rt-probe beside busy loops.

        :returns: the report, and the time at which the report arrived
        """
        self._send(loads, options)
        line = self._line()
        arrived = time.time()
        try:
            said: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise RuntimeError(f'the guest says {line!r}') from error
        return said, arrived

    def _line(self) -> str:
        try:
            return self._lines.readline()
        except TimeoutError:
            raise RuntimeError(
                'the guest has hung; doc/source/contributor/lab.rst names an '
                'error of QEMU that makes guests hang') from None

    def _send(self, loads: int, options: tuple[str, ...]) -> None:
        self._serial.sendall(f'{loads} {" ".join(options)}\n'.encode())


def _connected(path: pathlib.Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.settimeout(_PATIENCE_SECONDS)
    found.connect(str(path))
    return found


def _initrd(scratch: pathlib.Path) -> pathlib.Path:
    """Makes an initrd with busybox, Python and rt-probe."""
    root = scratch / 'root'
    for folder in ('bin', 'dev', 'proc', 'sys', 'tmp', 'usr/bin', 'usr/lib'):
        (root / folder).mkdir(parents=True)
    busybox = pathlib.Path(shutil.which('busybox') or '')
    shutil.copy(busybox, root / 'bin' / 'busybox')
    bundle.write(str(root / 'rt-probe.pyz'))
    shutil.copytree(_LIBRARY, root / _LIBRARY.relative_to('/'),
                    ignore=_UNUSED, ignore_dangling_symlinks=True)
    extensions = sorted((_LIBRARY / 'lib-dynload').glob('*.so'))
    for file in (_PYTHON, *_libraries(_PYTHON, *extensions)):
        target = root / file.relative_to('/')
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    init = root / 'init'
    init.write_text(_INIT)
    init.chmod(0o755)
    image = scratch / 'initrd'
    image.write_bytes(qemu_images.pack(root, busybox))
    return image


def _libraries(*programs: pathlib.Path) -> set[pathlib.Path]:
    """Returns the libraries that programs and extensions load."""
    listed = subprocess.run(['ldd', *programs], capture_output=True,
                            text=True, check=True).stdout
    return {pathlib.Path(word) for line in listed.splitlines()
            for word in line.split()
            if word.startswith('/') and not word.endswith(':')}
