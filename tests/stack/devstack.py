# SPDX-License-Identifier: Apache-2.0

"""One DevStack: its local.conf, its scripts, and its openstack client."""

from collections.abc import Collection, Sequence
import json
import pathlib
import struct
import subprocess
import time
from typing import Any

from tests.stack import container
from tests.stack import repositories

HERE = pathlib.Path(__file__).parent
SAMPLE = HERE.parents[1] / 'devstack' / 'local.conf.sample'
PROC = pathlib.Path('/proc')
# Sectors 1 to 2047, of type 83: Glance and Nova refuse a boot sector without
# a partition.
_PARTITION = struct.pack('<B3xB3xII', 0x80, 0x83, 1, 2047)
#: A disk that begins with ``jmp .``: the vCPU is busy for ever.
BUSY = (b'\xeb\xfe'.ljust(446, b'\0') + _PARTITION.ljust(64, b'\0') +
        b'\x55\xaa')
_OPENED = 'cd devstack && source openrc admin admin > /dev/null && '


class DevStack:
    """A DevStack in a container; begin with :meth:`prepare`."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.share = directory / 'share'
        self.box = container.Container(directory, self.share)

    def prepare(self) -> None:
        """A container that is ready for stack.sh."""
        repositories.make(self.share)
        (self.share / 'busy.img').write_bytes(BUSY.ljust(1 << 20, b'\0'))
        (self.share / 'prepare.sh').write_text(
            (HERE / 'prepare.sh').read_text())
        self.box.build()
        self.box.start()
        self.box.run('bash /srv/share/prepare.sh')

    def stack(self, more: str = '', check: bool = True) -> str:
        """Returns the last output of stack.sh.

        :param more: settings of local.conf in addition to the sample
        :raises RuntimeError: when stack.sh fails
        """
        ours = 'file:///srv/share/nova-rt.git main'
        text = ''.join(
            f'enable_plugin nova-rt {ours}\n'
            if line.startswith('enable_plugin nova-rt ') else line
            for line in SAMPLE.read_text().splitlines(keepends=True))
        added = (HERE / 'local.conf').read_text()
        local, _, sections = added.partition('\n[[')
        (self.share / 'local.conf').write_text(
            f'{text}{local}\n{more}\n\n[[{sections}')
        return self._script('cp /srv/share/local.conf . && ./stack.sh', check)

    def take_for_host(self) -> None:
        """Lets nova-rt offer what the kernel has from now on; see own_host."""
        name = 'nova_rt_own_host'
        (self.share / f'{name}.py').write_text(
            (HERE / 'own_host.py').read_text())
        (self.share / f'{name}.pth').write_text(f'import {name}\n')
        self.box.run(f'cp /srv/share/{name}.* '
                     '/usr/local/lib/python3.*/dist-packages')

    def doctor(self) -> str:
        """Returns the output; warnings also change the exit status."""
        return self.box.run('nova-rt doctor', check=False)

    def unstack(self) -> str:
        return self._script('./unstack.sh', True)

    def clean(self) -> str:
        return self._script('./clean.sh', True)

    def _script(self, words: str, check: bool) -> str:
        return self.box.run(f'cd devstack && {words}', 'stack', check)

    def openstack(self, words: str, check: bool = True) -> str:
        return self.box.run(f'{_OPENED}openstack {words}', 'stack', check)

    def status(self, words: str) -> int:
        """The exit status of the client."""
        end = self.box.run(f'{_OPENED}openstack {words}; status=$?; '
                           'echo; echo $status',
                           'stack')
        return int(end.split()[-1])

    def properties(self, flavor: str) -> dict[str, str]:
        shown = self.openstack(f'flavor show {flavor} -f json -c properties')
        found: dict[str, Any] = json.loads(shown[shown.index('{'):])
        return dict(found['properties'])

    def check(self) -> str:
        """``nova-rt-manage check``, with the kernel of the node."""
        return self.box.run(
            'nova-rt-manage --config-file /etc/nova/nova.conf --config-file '
            '/etc/nova/nova-cpu.conf check --kernel', check=False)

    def guests(self) -> list[str]:
        """The directories of the guests' groups, on this machine."""
        found = subprocess.run(
            ['find', '/sys/fs/cgroup', '-type', 'd', '-name', '*instance-*'],
            stdout=subprocess.PIPE, text=True)
        return found.stdout.splitlines()

    def shares(self, seconds: float, windows: int) -> list[float]:
        """Returns what the vCPUs of all guests got of a CPU, by window."""
        threads = vcpus(self.guests())
        found = []
        for _ in range(windows):
            begin, used = time.monotonic_ns(), cpu_ns(threads)
            time.sleep(seconds)
            used = cpu_ns(threads) - used
            found.append(used / (time.monotonic_ns() - begin))
        return found


def vcpus(guests: Sequence[str]) -> set[int]:
    """The threads in the groups that libvirt makes for vCPUs."""
    found: set[int] = set()
    for guest in guests:
        for group in pathlib.Path(guest).rglob('vcpu*'):
            for name in ('tasks', 'cgroup.threads'):
                if (group / name).exists():
                    found.update(map(int, (group / name).read_text().split()))
    return found


def cpu_ns(threads: Collection[int]) -> int:
    """The CPU time of threads, in ns."""
    return sum(int((PROC / str(thread) / 'schedstat').read_text().split()[0])
               for thread in threads)
