# SPDX-License-Identifier: Apache-2.0

"""The virtual machine: QEMU's command line, and QEMU while it runs."""

import dataclasses
import pathlib
import subprocess

from lab import kernels
from lab import programs

#: How many ns one instruction takes: 250 million a second, whatever the host
#: does meanwhile.  QEMU knows powers of two.
INSTRUCTION_NS = 4
INSTRUCTIONS_NS = tuple(1 << shift for shift in range(7))
#: How many a machine has that was not asked for more.
CPUS = 2
#: How far a busy task's share may be off, in parts of a CPU, by whether the
#: clock is deterministic.
TOLERANCE = {True: 0.005, False: 0.05}
_NICE = '10'


@dataclasses.dataclass(frozen=True)
class Machine:
    """What the kernel finds.

    :ivar cpus: number of CPUs; with a deterministic clock they take turns
    :ivar memory: MiB
    :ivar cgroup: v1 or v2
    :ivar icount: whether time goes by instructions
    :ivar instruction_ns: what one takes then; one of INSTRUCTIONS_NS
    """

    cpus: int = CPUS
    memory: int = 3072
    cgroup: str = 'v1'
    icount: bool = False
    instruction_ns: int = INSTRUCTION_NS

    def command(self, kernel: kernels.Kernel, disk: pathlib.Path,
                shared: pathlib.Path, console: pathlib.Path) -> list[str]:
        """QEMU's words; the disk is never changed."""
        words = [
            'qemu-system-x86_64', '-cpu', 'Nehalem', '-smp', str(self.cpus),
            '-m', str(self.memory), '-nodefaults', '-no-user-config',
            '-no-reboot', '-display', 'none', '-serial', f'file:{console}',
            '-kernel', str(kernel.image), '-append', self._kernel_line(),
            '-drive', f'file={_value(disk)},format=raw,if=virtio,snapshot=on,'
                      'cache=unsafe',
            '-device', 'virtio-rng-pci', *_share('lab', shared)]
        if self.icount:
            shift = INSTRUCTIONS_NS.index(self.instruction_ns)
            words += ['-accel', 'tcg,thread=single', '-icount',
                      f'shift={shift},sleep=off']
        else:
            words += ['-accel', 'tcg,thread=multi']
        if kernel.modules is not None:
            words += [*_share('modules', kernel.modules),
                      '-initrd', str(shared / 'initrd')]
        return words

    @staticmethod
    def _kernel_line() -> str:
        # Without no_timer_check a busy host is taken for a broken APIC.
        return ('root=/dev/vda rw console=ttyS0 init=/init panic=1 '
                'oops=panic tsc=reliable no_timer_check')


def _share(tag: str, directory: pathlib.Path) -> list[str]:
    return ['-virtfs', f'local,path={_value(directory)},mount_tag={tag},'
                       'security_model=none,multidevs=remap']


def _value(path: pathlib.Path) -> str:
    """A path as QEMU reads it between commas."""
    return str(path).replace(',', ',,')


def run(command: list[str], timeout: float) -> bool:
    """Whether QEMU has ended in *timeout* seconds; it has, afterwards.

    :raises LabError: if QEMU could not start the machine
    """
    programs.require(command[0])
    # Nothing is left of it even if we are killed.
    with subprocess.Popen(
            ['setpriv', '--pdeathsig', 'KILL', 'nice', '-n', _NICE, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True) as qemu:
        try:
            _, errors = qemu.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return False
        finally:
            qemu.kill()
    if qemu.returncode:
        raise programs.LabError(
            f'QEMU ended with status {qemu.returncode}: '
            f'{" ".join(errors.split())[-300:]}')
    return True
