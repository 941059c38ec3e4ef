# SPDX-License-Identifier: Apache-2.0

"""Reads and shows numbers and lists of CPUs as the kernel does."""

from collections.abc import Iterable
import errno
import os
import re

_RADIX = ((re.compile(r'0[xX]([0-9a-fA-F]+)'), 16),
          (re.compile(r'(0[0-7]*)'), 8),
          (re.compile(r'([1-9][0-9]*)'), 10))


def refusal(number: int, path: str) -> OSError:
    """Returns the OSError that the system call would raise."""
    return OSError(number, os.strerror(number), path)


def unsigned(text: str, path: str) -> int:
    """Does what kstrtoull(text, 0) does; the text may end in one newline."""
    digits = text.removesuffix('\n').removeprefix('+')
    for pattern, radix in _RADIX:
        match = pattern.fullmatch(digits)
        if match:
            value = int(match[1], radix)
            if value >= 1 << 64:
                raise refusal(errno.ERANGE, path)
            return value
    raise refusal(errno.EINVAL, path)


def signed(text: str, path: str) -> int:
    """Does what kstrtoll(text, 0) does."""
    negative = text.startswith('-')
    if negative and text[1:2] == '+':
        raise refusal(errno.EINVAL, path)
    value = unsigned(text[1:] if negative else text, path)
    if value > ((1 << 63) if negative else (1 << 63) - 1):
        raise refusal(errno.ERANGE, path)
    return -value if negative else value


def cpu_set(text: str, path: str) -> frozenset[int]:
    """Reads a list such as 0-2,5; raises EINVAL for other texts."""
    cpus: set[int] = set()
    for part in text.strip().split(','):
        match = re.fullmatch(r'([0-9]+)(?:-([0-9]+))?', part)
        if match:
            cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
        elif part:
            raise refusal(errno.EINVAL, path)
    return frozenset(cpus)


def cpu_text(cpus: Iterable[int]) -> str:
    """Writes the inverse of :func:`cpu_set` as the kernel does."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ','.join(f'{first}' if first == last else f'{first}-{last}'
                    for first, last in ranges)
