# SPDX-License-Identifier: Apache-2.0

"""Writes README.rst again, with its table of kernels from kernels.csv.

usage: tools/readme.py [FILE]     (default: standard output)

The table says which share servers get on each kernel with each version of
control groups, and which kinds of guests were tried.  kernels.csv has all
results of the lab.
"""

from collections.abc import Iterable, Iterator
import pathlib
import re
import sys

from lab import table

ROOT = pathlib.Path(__file__).parent.parent
README = ROOT / 'README.rst'
KERNELS = ROOT / 'doc/source/kernel/kernels.csv'

#: The lines of the page before and after the table.
_BEGIN = '.. The table of kernels, by tools/readme.py from kernels.csv.\n'
_END = '.. The end of the table of kernels.\n'

_HEADER = ('Kernel', 'cgroup', 'VMs', 'Containers', 'Sells', 'Promise',
           'Within', 'Proven')
#: For each interface: virtual machines, containers, and the promise.
_GIVES = {
    'sched_deadline': ('SCHED_DEADLINE', 'no', 'guarantee, cap'),
    'rt_group_sched': ('yes', 'yes', 'cap'),
    'hcbs': ('yes', 'yes', 'guarantee, cap'),
    'rt_max': ('yes', 'yes', 'guarantee, cap'),
    'rt_max_cpuset': ('yes', 'yes', 'guarantee, cap'),
}
_NONE = '-'
_PASSED = 'passed'
#: Marks the share of a kernel on which a test of the lab failed.
_FAILED = '*'
#: The kernels in the order of the table: known ones, then the others.
_DEBIAN = re.compile(r'debian:(.*)')
#: What the names of kernels say of patches and builds.
_DETAILS = re.compile(r' \([^)]*\)|, with BTF$')
_VERSION = re.compile(r'[0-9]+\.[0-9]+')


def page(text: str, rows: Iterable[table.Row]) -> str:
    """Returns the page *text* with the table of these rows.

    :raises ValueError: when the page has no place for the table
    """
    before, _, rest = text.partition(_BEGIN)
    _, marker, after = rest.partition(_END)
    if not marker:
        raise ValueError(f'{README.name} has no place for the table of '
                         f'kernels: put "{_BEGIN.strip()}" and '
                         f'"{_END.strip()}" where it belongs')
    return f'{before}{_BEGIN}\n{simple_table(lines(rows))}\n{_END}{after}'


def lines(rows: Iterable[table.Row]) -> Iterator[tuple[str, ...]]:
    """Returns the lines of the table, one for each kernel.

    A kernel has two lines where the version of control groups matters.
    """
    merged: dict[tuple[str, ...], list[str]] = {}
    for kernel, cgroup, *cells in _lines(rows):
        merged.setdefault((kernel, *cells), []).append(cgroup)
    for (kernel, *cells), cgroups in merged.items():
        yield kernel, ', '.join(cgroups), *cells


def _lines(rows: Iterable[table.Row]) -> Iterator[tuple[str, ...]]:
    """Returns one line for each kernel and version of control groups."""
    groups: dict[tuple[str, str, str], list[table.Row]] = {}
    failed = set()
    for row in rows:
        if row.outcome != _PASSED:
            failed.add((_short(row.kernel), row.cgroup))
        if row.guests != _NONE:
            groups.setdefault((_short(row.kernel), row.cgroup, row.interface),
                              []).append(row)
    for (kernel, cgroup, interface), group in sorted(
            groups.items(), key=lambda pair: (
                not _DEBIAN.match(pair[0][0]), pair[0])):
        *guests, promise = _GIVES.get(interface, ('no', 'no', 'none'))
        yield (_name(kernel, group[-1].release), cgroup, *guests,
               _sells(group), promise,
               _within(group) + _FAILED * ((kernel, cgroup) in failed),
               _proven(group))


def _name(kernel: str, release: str) -> str:
    """Returns a short name of the kernel; for Debian's with the version."""
    debian = _DEBIAN.match(kernel)
    version = _VERSION.match(release)
    if debian is None or version is None:
        return kernel
    return f'Debian {debian[1]}, {version[0]}'


def _short(kernel: str) -> str:
    return _DETAILS.sub('', kernel)


def _sells(rows: Iterable[table.Row]) -> str:
    """Returns how much of the CPUs may be reserved: the least of the rows."""
    return min((row.sells for row in rows if row.sells != _NONE),
               default=_NONE)


def _within(rows: Iterable[table.Row]) -> str:
    """Returns the worst share, measured by the best clock of these rows."""
    values = [(row.clock, row.within) for row in rows if row.within != _NONE]
    best = min((clock for clock, _ in values), default='')
    return max((within for clock, within in values if clock == best),
               default=_NONE)


def _proven(rows: Iterable[table.Row]) -> str:
    """Returns every place in which the rows were proven."""
    return ', '.join(dict.fromkeys(
        where for row in rows for where in row.proven.split(', ')
        if where != _NONE)) or _NONE


def simple_table(rows: Iterable[tuple[str, ...]]) -> str:
    """Returns a table in reStructuredText that is readable as plain text."""
    content = [_HEADER, *rows]
    widths = [max(map(len, column)) for column in zip(*content, strict=True)]
    rule = ' '.join('=' * width for width in widths)
    text = [' '.join(cell.ljust(width) for cell, width
                     in zip(row, widths, strict=True)).rstrip()
            for row in content]
    return '\n'.join([rule, text[0], rule, *text[1:], rule, ''])


def main() -> None:
    """Writes the page to a file or to standard output."""
    text = page(README.read_text(encoding='utf-8'),
                table.parse(KERNELS.read_text(encoding='utf-8')))
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text, encoding='utf-8')
    else:
        sys.stdout.write(text)


if __name__ == '__main__':
    main()
