# SPDX-License-Identifier: Apache-2.0

"""The virtual machine: the command line of QEMU, and QEMU while it runs."""

import dataclasses
import pathlib
import subprocess

from lab import devices
from lab import kernels
from lab import programs

#: How many ns one instruction takes: 250 million in a second, whatever the
#: host does meanwhile.  QEMU accepts powers of two.
INSTRUCTION_NS = 4
INSTRUCTIONS_NS = tuple(1 << shift for shift in range(7))
#: How many CPUs a machine has by default.
CPUS = 2
#: How far a busy task's share may be off, in CPUs, by whether times are
#: exact.
TOLERANCE = {True: 0.005, False: 0.05}
#: The tolerance for vCPUs of KVM, which are pinned: smaller.
KVM_TOLERANCE = {True: 0.005, False: 0.02}
_NICE = '10'
_MODEL = 'Nehalem'
# QEMU emulates AMD's virtualization, which has nested paging, and not
# Intel's.  Python's wheels need the other flags except invtsc.  On a host with
# PREEMPT_RT, KVM needs invtsc: a clock that never stops, which QEMU promises
# only if it is forced to.
_KVM_MODEL = ('Opteron_G3,+svm,+npt,+ssse3,+sse4.1,+sse4.2,+popcnt,+invtsc,'
              'x-force-features=on')
#: MiB for code that QEMU has translated; QEMU's default is 1 GiB.
_TRANSLATED = 256
#: The tag of a root that is shared: old and new kernels ask for this name.
_ROOT = '/dev/root'
_ROOT_FLAGS = 'trans=virtio,version=9p2000.L,msize=262144,cache=loose'
#: The NUMA distance of another cell; the distance of the own cell is 10.
_DISTANCE = 20


@dataclasses.dataclass(frozen=True)
class Machine:
    """The hardware that the kernel finds.

    :ivar cpus: number of CPUs; with a deterministic clock they take turns
    :ivar memory: MiB
    :ivar cgroup: v1 or v2
    :ivar icount: whether the clock counts instructions
    :ivar instruction_ns: the time of one instruction if *icount* is set, one
        of INSTRUCTIONS_NS
    :ivar kvm: whether its CPUs can run KVM guests
    :ivar cells: number of NUMA cells, each with the same CPUs and memory
    :ivar pages: huge pages of 2 MiB in each cell
    :ivar takes_turns: whether one thread of the host emulates all CPUs, as
        with *icount*; the emulator then has no races between CPUs
    :ivar shares_root: whether its root is a directory that 9p shares and
        nobody can write, for kernels without a driver for disks
    :ivar parameters: words for the kernel's command line
    :ivar device: the name of an SR-IOV device in the last cell, see devices;
        '' for none
    :ivar tsc_khz: the frequency of the time stamp counter without *icount*;
        None if the kernel has to measure the frequency
    """

    cpus: int = CPUS
    memory: int = 3072
    cgroup: str = 'v1'
    icount: bool = False
    instruction_ns: int = INSTRUCTION_NS
    kvm: bool = False
    cells: int = 1
    pages: int = 0
    shares_root: bool = False
    parameters: tuple[str, ...] = ()
    takes_turns: bool = False
    device: str = ''
    tsc_khz: int | None = None

    @property
    def is_exact(self) -> bool:
        """Returns whether the times of two boots are the same.

        Several CPUs take turns, so the timers of each CPU are late.
        """
        return self.icount and self.cpus == 1

    @property
    def tolerance(self) -> float:
        """Returns how far the share of a busy task may be off, in CPUs."""
        return (KVM_TOLERANCE if self.kvm else TOLERANCE)[self.is_exact]

    def command(self, kernel: kernels.Kernel, root: pathlib.Path,
                shared: pathlib.Path, console: pathlib.Path) -> list[str]:
        """Returns the command line of QEMU; QEMU never changes the root.

        :param root: the disk, or the directory if the machine *shares_root*
        """
        words = [
            'qemu-system-x86_64', '-cpu', _KVM_MODEL if self.kvm else _MODEL,
            *self._topology(), *(devices.CHIPSET if self.device else ()),
            '-nodefaults', '-no-user-config', '-no-reboot', '-display',
            'none', '-serial', f'file:{console}',
            '-kernel', str(kernel.image), '-append', self._kernel_line(),
            *self._root(root),
            '-device', 'virtio-rng-pci', *_share('lab', shared)]
        if self.icount:
            shift = INSTRUCTIONS_NS.index(self.instruction_ns)
            words += ['-accel', f'tcg,thread=single,tb-size={_TRANSLATED}',
                      '-icount', f'shift={shift},sleep=off']
        else:
            thread = 'single' if self.takes_turns else 'multi'
            words += ['-accel', f'tcg,thread={thread},tb-size={_TRANSLATED}']
        if kernel.modules is not None:
            words += [*_share('modules', kernel.modules),
                      '-initrd', str(shared / 'initrd')]
        if self.device:
            words += devices.words(self.device, self.cells)
        return words

    def _root(self, root: pathlib.Path) -> list[str]:
        if self.shares_root:
            # Not -virtfs, which makes an id of the tag.
            return ['-fsdev', f'local,id=root,path={_value(root)},'
                              'security_model=none,multidevs=remap,'
                              'readonly=on',
                    '-device', f'virtio-9p-pci,fsdev=root,mount_tag={_ROOT}']
        # Not if=virtio, with which QEMU makes the disk after all devices.
        return ['-drive', f'file={_value(root)},format=raw,if=none,id=root,'
                          'snapshot=on,cache=unsafe',
                '-device', 'virtio-blk-pci,drive=root']

    def _topology(self) -> list[str]:
        """Returns the options that spread CPUs and memory over NUMA cells."""
        each = self.cpus // self.cells
        words = ['-m', str(self.memory)]
        if self.cells == 1:
            # A kernel without ACPI finds one CPU of each socket.
            return [*words, '-smp', f'{self.cpus},sockets={self.cpus}']
        words += ['-smp', f'{self.cpus},sockets={self.cells},cores={each}']
        for cell in range(self.cells):
            size = self.memory // self.cells
            first = cell * each
            words += ['-object', f'memory-backend-ram,id=memory{cell},'
                      f'size={size}M', '-numa', f'node,nodeid={cell},'
                      f'memdev=memory{cell},cpus={first}-{first + each - 1}']
        for one in range(self.cells):
            for other in range(one):
                words += ['-numa', f'dist,src={other},dst={one},'
                          f'val={_DISTANCE}']
        return words

    def _kernel_line(self) -> str:
        # Without no_timer_check, Linux takes a busy host for a broken APIC.
        root = ('root=/dev/vda rw' if not self.shares_root else
                f'root={_ROOT} ro rootfstype=9p rootflags={_ROOT_FLAGS}')
        line = (f'{root} console=ttyS0 init=/init panic=1 oops=panic '
                'tsc=reliable no_timer_check')
        if self.tsc_khz and not self.icount:
            line += f' tsc_early_khz={self.tsc_khz}'
        if self.device:
            line += f' {devices.KERNEL_WORDS}'
        if self.pages:
            line += ' hugepages=' + ','.join(
                f'{cell}:{self.pages}' for cell in range(self.cells))
        return ' '.join([line, *self.parameters])


def _share(tag: str, directory: pathlib.Path) -> list[str]:
    return ['-virtfs', f'local,path={_value(directory)},mount_tag={tag},'
                       'security_model=none,multidevs=remap']


def _value(path: pathlib.Path) -> str:
    """Returns a path as QEMU reads it between commas."""
    return str(path).replace(',', ',,')


def run(command: list[str], timeout: float) -> bool:
    """Runs QEMU for at most *timeout* seconds.

    Returns whether QEMU has ended by itself.

    :raises LabError: when QEMU could not start the machine
    """
    programs.require(command[0])
    # Nothing of QEMU is left even if this process is killed.
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
