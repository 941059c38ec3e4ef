# SPDX-License-Identifier: Apache-2.0

"""Compares the monitor with the notes of a server in a QEMU guest.

usage: PYTHONPATH=tools .venv/bin/python -m benchmarks.guest KERNEL MODULES

The guest boots KERNEL (vmlinuz of Debian) with drivers from MODULES (its
/lib/modules/RELEASE, not compressed) and runs the server of traffic.c.  This
host watches the guest's tap.  Count and bytes must be equal, and p99 must be
within 3 % of the server's notes.  Needs root, qemu-system-x86_64, a static
busybox, cc and ip; exits with 1 if a requirement is missed.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

from benchmarks import stand_ins
from benchmarks import taps
from benchmarks import traffic
from lab import initrd
from rt_monitor import transactions

CASE = traffic.Case(100, 2_000, work_us=3_000)
MOST = 0.03
PORT, DONE, LOG = 8000, 8001, 8002
_SECONDS = 120
_INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
for module in $(ls /modules); do insmod /modules/$module; done
ip addr add {taps.THERE}/30 dev eth0
ip link set eth0 up
ip link set lo up
/traffic server {taps.THERE}:{PORT} {CASE.asked} {CASE.answered} 0 \
{CASE.work_us} /log &
sleep 1
nc -l -p {DONE} < /dev/null
kill -TERM $!
wait
nc {taps.HERE} {LOG} < /log
poweroff -f
"""


def first_root(folder: str, modules: pathlib.Path) -> str:
    """Returns the archive that the guest boots: drivers and the server."""
    program = f'{folder}/traffic'
    subprocess.run(['cc', '-O2', '-static', '-o', program, traffic.SOURCE,
                    '-lm'], check=True)
    directory, file = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
    files = dict.fromkeys(('bin', 'dev', 'modules'), (directory, b''))
    for path, name in ((shutil.which('busybox') or '', 'bin/busybox'),
                       (program, 'traffic')):
        files[name] = (file, pathlib.Path(path).read_bytes())
    table = initrd.parse_dependencies((modules / 'modules.dep').read_text())
    for number, path in enumerate(initrd.load_order(
            table, ('virtio_pci', 'virtio_net'))):
        files[f'modules/{number:02}.ko'] = (file, (
            modules / path).read_bytes())
    files['init'] = (file, _INIT.encode())
    archive = pathlib.Path(folder, 'initrd')
    archive.write_bytes(initrd.archive(files))
    return str(archive)


@contextlib.contextmanager
def running(kernel: str, archive: str, name: str) -> Iterator[None]:
    """Runs a guest behind a tap of this name."""
    subprocess.run(['ip', 'tuntap', 'add', name, 'mode', 'tap'], check=True)
    try:
        for words in (('addr', 'add', f'{taps.HERE}/30', 'dev', name),
                      ('link', 'set', name, 'up')):
            subprocess.run(['ip', *words], check=True)
        with subprocess.Popen([
                'qemu-system-x86_64', '-nodefaults', '-no-reboot',
                '-display', 'none', '-serial', 'file:/dev/null', '-m', '256',
                '-cpu', 'Nehalem', '-kernel', kernel, '-initrd', archive,
                '-append', 'console=ttyS0 tsc=reliable no_timer_check panic=1',
                '-netdev', f'tap,id=net,ifname={name},script=no,'
                'downscript=no', '-device', 'virtio-net-pci,netdev=net'
                ]) as qemu:
            try:
                yield
            finally:
                qemu.kill()
    finally:
        subprocess.run(['ip', 'link', 'del', name], check=True)


def connected(port: int) -> socket.socket:
    """Returns a connection to the guest as soon as it answers."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            return socket.create_connection((str(taps.THERE), port), 5)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def notes() -> list[int]:
    """Ends the server; returns its notes in ns, ascending."""
    with socket.create_server((str(taps.HERE), LOG)) as listener:
        listener.settimeout(_SECONDS)
        connected(DONE).close()
        connection, _ = listener.accept()
        parts = []
        with connection:
            while part := connection.recv(1 << 16):
                parts.append(part)
    return sorted(one[3] - one[0]
                  for one in struct.iter_unpack('=4q', b''.join(parts)))


def main() -> int:
    """Runs the guest and returns the exit status."""
    kernel, modules = sys.argv[1:]
    name = f'nrt{os.getpid()}'
    with tempfile.TemporaryDirectory() as folder:
        program = stand_ins.compiled(traffic.SOURCE, folder)
        with (running(kernel, first_root(folder, pathlib.Path(modules)),
                      name),
              contextlib.closing(taps.Watched(name)) as watched):
            connected(PORT).close()
            subprocess.run([program, 'client', *map(str, (
                taps.THERE, PORT, CASE.connections, CASE.rate_hz, CASE.count,
                CASE.asked, CASE.answered, 1, f'{folder}/client'))],
                check=True)
            noted = notes()
            seen = watched.edge(taps.HERE, transactions.Role.SERVER, PORT)
    return 0 if taps.report(CASE, noted, seen) else 1


if __name__ == '__main__':
    sys.exit(main())
