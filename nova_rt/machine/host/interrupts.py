# SPDX-License-Identifier: Apache-2.0

"""Finds interrupts that threads handle, and the CPUs of these threads.

Threads handle interrupts on PREEMPT_RT, and on any kernel that was booted with
``threadirqs``.
"""

from collections.abc import Iterable, Iterator
import dataclasses
import re
from typing import Protocol

from nova_rt.machine.host import files
from nova_rt.machine.host import proc
from nova_rt.rules import cpulist

IRQ = '/proc/irq'
#: This file has a mask, not a list.
DEFAULT = f'{IRQ}/default_smp_affinity'

_REALTIME = '/sys/kernel/realtime'
_VERSION = '/proc/version'
_CMDLINE = '/proc/cmdline'
_THREAD = re.compile(r'irq/([0-9]+)-')


class Reader(Protocol):
    """The part of a host that reads files."""

    def read(self, path: str) -> str:
        """Returns the content of a file without white space at its end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Interrupt:
    """An interrupt that a thread handles.

    :ivar thread: the id of the thread
    :ivar cpus: the CPUs that the thread may run on
    :ivar affinity: the CPUs that the interrupt may come to
    :ivar effective: the CPU that the interrupt comes to now, if the kernel
        shows this CPU, else *affinity*; the thread is on this CPU unless
        somebody moved the thread
    """

    number: int
    thread: int
    name: str
    cpus: frozenset[int]
    affinity: frozenset[int]
    effective: frozenset[int]

    def may_run_on(self, cpus: frozenset[int]) -> bool:
        """Checks whether the thread is on one of *cpus* or may move there.

        If somebody moved the thread away from its interrupt, the thread stays
        where it is. Operators move threads away if the kernel refuses to move
        the interrupt.
        """
        by_hand = not self.cpus & self.effective
        return bool(self.cpus & cpus
                    or (self.affinity & cpus and not by_hand))


def is_realtime(fs: Reader) -> bool:
    """Checks whether the kernel is built with PREEMPT_RT."""
    return (_optional(fs, _REALTIME) == '1'
            or 'PREEMPT_RT' in _optional(fs, _VERSION).split())


def are_threads(fs: Reader) -> bool:
    """Checks whether the kernel handles interrupts in threads."""
    return is_realtime(fs) or 'threadirqs' in _optional(fs, _CMDLINE).split()


def find(host: files.Host, tasks: Iterable[proc.Task]) -> Iterator[Interrupt]:
    """Yields the interrupts that kernel threads among *tasks* handle.

    :raises OSError: when a file cannot be read
    :raises ValueError: when a file has no list of CPUs
    """
    for task in tasks:
        match = _THREAD.match(task.comm)
        if not task.kernel or match is None:
            continue
        try:
            allowed = proc.status(host, task)['Cpus_allowed_list']
        except (FileNotFoundError, ProcessLookupError):
            continue  # The device of the interrupt is gone.
        cpus = frozenset(cpulist.parse_ids(allowed))
        affinity = _ids(host, f'{IRQ}/{match[1]}/smp_affinity_list') or cpus
        yield Interrupt(
            int(match[1]), task.thread, task.comm, cpus, affinity,
            _ids(host, f'{IRQ}/{match[1]}/effective_affinity_list')
            or affinity)


def default(host: files.Host) -> frozenset[int]:
    """Returns the CPUs that interrupts of a new device may come to.

    :raises ValueError: when the file has no mask
    """
    text = host.optional(DEFAULT) or '0'
    bits = int(text.replace(',', ''), 16)
    return frozenset(cpu for cpu in range(bits.bit_length())
                     if bits >> cpu & 1)


def mask(cpus: Iterable[int]) -> str:
    """Returns a mask of CPUs, as ``default_smp_affinity`` accepts it."""
    digits = f'{sum(1 << cpu for cpu in cpus):x}'
    head = len(digits) % 8
    words = [digits[:head]] if head else []
    words += [digits[at:at + 8] for at in range(head, len(digits), 8)]
    return ','.join(words)


def _ids(host: files.Host, path: str) -> frozenset[int]:
    """Returns the CPUs of a file; none if the file does not exist."""
    text = host.optional(path)
    return frozenset(cpulist.parse_ids(text)) if text else frozenset()


def _optional(fs: Reader, path: str) -> str:
    try:
        return fs.read(path)
    except OSError:
        return ''
