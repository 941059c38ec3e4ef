# SPDX-License-Identifier: Apache-2.0

"""Measures the frequency of this machine's time stamp counter (TSC).

QEMU's emulation gives the TSC of this machine to its guest.  On a busy
machine, a guest that measures the TSC against an emulated timer can be wrong
by an order of magnitude, and the clock of this guest is then too fast by the
same factor.
"""

from collections.abc import Callable
import ctypes
import mmap
import platform
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
_CODE = bytes.fromhex('0f31 48c1e220 4809d0 c3')
_SECONDS = 0.2
#: How often to read both clocks; the reading that took least time counts.
_READINGS = 50


def khz() -> int | None:
    """Returns the frequency in kHz; None on a machine that is not x86-64."""
    if platform.machine() != 'x86_64':
        return None
    with mmap.mmap(-1, len(_CODE), prot=mmap.PROT_READ | mmap.PROT_WRITE
                   | mmap.PROT_EXEC) as memory:
        memory.write(_CODE)
        first = ctypes.c_char.from_buffer(memory)
        result = _measure(ctypes.CFUNCTYPE(ctypes.c_uint64)(
            ctypes.addressof(first)))
        # The memory cannot be unmapped before.
        del first
    return result


def _measure(read: Callable[[], int]) -> int:
    began_ns, began = _both(read)
    time.sleep(_SECONDS)
    ended_ns, ended = _both(read)
    return round((ended - began) * 1_000_000 / (ended_ns - began_ns))


def _both(read: Callable[[], int]) -> tuple[int, int]:
    """Returns the time in ns and the counter at the same moment."""
    readings = []
    for _ in range(_READINGS):
        before, count, after = (time.monotonic_ns(), read(),
                                time.monotonic_ns())
        readings.append((after - before, (before + after) // 2, count))
    return min(readings)[1:]
