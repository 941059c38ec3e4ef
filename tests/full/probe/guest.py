# SPDX-License-Identifier: Apache-2.0

"""A guest of KVM whose vCPU has a reservation of SCHED_DEADLINE.

The guest runs what the host asks for in a shared directory.  Run as a program,
this module asks the guest for a report, and prints the report:
``python -m tests.full.probe.guest DIRECTORY LOADS ...``.
"""

import atexit
from collections.abc import Iterator
import contextlib
import functools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from lab import initrd
from lab import kernels

from nova_rt.machine import sched_setattr
from tests.full.probe import places

#: The variable with the disk that tools/lab.sh made.
DISK = 'NOVA_RT_PROBE_DISK'
_KERNEL = 'debian:13'
_SECONDS, _POLL_S = 120, 0.05
_PERIOD_US = 100_000
#: The file "ask" has the number of busy loops.
_INSIDE = '''\
touch /lab/up
while :; do
    if read -r loads < /lab/ask; then
        rm /lab/ask
        pids=
        for load in $(seq "$loads"); do
            (while :; do :; done) & pids="$pids $!"
        done
        python3 -I -S /lab/rt-probe.pyz once --interval 1 > /lab/part
        [ -z "$pids" ] || kill $pids
        mv /lab/part /lab/told
    fi 2> /dev/null
    sleep 0.05
done
'''


def place(rng: random.Random, group: str
          ) -> contextlib.AbstractContextManager[places.Place]:
    """Yields the guest, whose vCPU has a random share."""
    return _placed(rng.uniform(0.1, 0.8), rng.choice([0, 1, 2]), group)


@contextlib.contextmanager
def _placed(share: float, loads: int, group: str) -> Iterator[places.Place]:
    shared, thread = _machine()
    with places.groups(group):
        tasks = places.accounting(group) / 'tasks'
        tasks.write_text(str(thread))
        sched_setattr.start(thread, round(share * _PERIOD_US), _PERIOD_US)
        try:
            yield places.Place(
                (sys.executable, '-m', __name__, str(shared), str(loads)),
                places.accounting(group), share)
        finally:
            sched_setattr.stop(thread)
            (tasks.parent.parent / 'tasks').write_text(str(thread))


@functools.cache
def _machine() -> tuple[pathlib.Path, int]:
    """Starts the guest once; returns its directory and its vCPU's thread."""
    disk = pathlib.Path(os.environ[DISK])
    kernel = kernels.find(_KERNEL, disk.parent.parent)
    assert kernel.modules is not None  # noqa: S101
    shared = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, shared)
    initrd.build(kernel.modules, shared / 'initrd')
    (shared / 'guest.sh').write_text(_INSIDE)
    qemu = subprocess.Popen([
        'setpriv', '--pdeathsig', 'KILL', 'qemu-system-x86_64', '-accel',
        'kvm', '-name', 'probe,debug-threads=on', '-m', '1024', '-smp', '1',
        '-nodefaults', '-no-reboot', '-display', 'none', '-serial',
        f'file:{shared}/console', '-kernel', str(kernel.image), '-initrd',
        f'{shared}/initrd', '-append',
        'root=/dev/vda rw console=ttyS0 init=/init panic=1', '-drive',
        f'file={disk},format=raw,if=none,id=root,snapshot=on,cache=unsafe',
        '-device', 'virtio-blk-pci,drive=root', '-virtfs',
        f'local,path={shared},mount_tag=lab,security_model=none'],
        stdin=subprocess.DEVNULL)
    atexit.register(qemu.wait)
    atexit.register(qemu.kill)
    _wait(shared / 'up')
    return shared, next(
        int(path.parent.name)
        for path in pathlib.Path(f'/proc/{qemu.pid}/task').glob('*/comm')
        if path.read_text().startswith('CPU 0'))


def _wait(path: pathlib.Path) -> None:
    end = time.monotonic() + _SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f'the guest has not written {path}')
        time.sleep(_POLL_S)


def _ask(shared: pathlib.Path, loads: str, bundle: str) -> str:
    """Returns the report of the probe in the guest."""
    if not (shared / 'rt-probe.pyz').exists():
        shutil.copy(bundle, shared / 'rt-probe.pyz')
    (shared / 'told').unlink(missing_ok=True)
    (shared / 'part-ask').write_text(f'{loads}\n')
    (shared / 'part-ask').rename(shared / 'ask')
    _wait(shared / 'told')
    return (shared / 'told').read_text()


if __name__ == '__main__':
    _, directory, wanted, _, _, _, file, *_ = sys.argv
    print(_ask(pathlib.Path(directory), wanted, file))
