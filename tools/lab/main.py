# SPDX-License-Identifier: Apache-2.0

"""The command line of the lab."""

import argparse
from collections.abc import Sequence
import dataclasses
import pathlib
import signal
import sys
import types
from typing import NoReturn

from lab import cache
from lab import devices
from lab import image
from lab import jobs
from lab import kernels
from lab import machine
from lab import programs
from lab import series
from lab import session
from lab import table
from lab import tsc
from lab import verdict

_BAD_INPUT = 2
_MAX_CPUS = 64
_MIN_MEMORY = 512
#: MiB of a huge page.
_PAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    signal.signal(signal.SIGTERM, _leave)
    words = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] = []
    if '--' in words:
        at = words.index('--')
        words, command = words[:at], words[at + 1:]
    try:
        return _run(_parser().parse_intermixed_args(words), command)
    except programs.LabError as error:
        print(f'lab.sh: {error}', file=sys.stderr)
        return _BAD_INPUT


def _leave(number: int, frame: types.FrameType | None) -> NoReturn:
    """Ends as after an exception, so that temporary files are removed."""
    raise SystemExit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='lab.sh', usage='%(prog)s [options] KERNEL [TEST ...] '
        '[-- COMMAND ...]', description='Boots a kernel in a virtual machine '
        'with a Debian root and runs tests of this project on it.',
        epilog='Exit status: 0 all passed, 1 a test failed, 2 wrong usage, '
        '3 the kernel died, 4 the time is over, 5 the kernel did not boot.')
    parser.add_argument(
        'kernel', metavar='KERNEL', help='the path of an image (bzImage), '
        f'one of {", ".join(kernels.DEBIAN)}, or {series.ALL}, which boots '
        'each of these kernels with the tests for its row in the table of '
        'kernels')
    parser.add_argument(
        'tests', metavar='TEST', nargs='*',
        help=f'{", ".join(jobs.NAMED)} (default: doctor)')
    parser.add_argument('--modules', type=pathlib.Path, metavar='DIR',
                        help='the directory of modules (like '
                             '/lib/modules/RELEASE), for a kernel that is '
                             'given by its path and needs modules to boot')
    parser.add_argument('--cgroup', choices=('v1', 'v2'), default='v2',
                        help='the version of control groups (default: v2)')
    parser.add_argument('--cpus', type=int, metavar='N',
                        help='number of CPUs (default: '
                             f'{machine.CPUS}, or 1 with --icount)')
    parser.add_argument('--memory', type=int, default=3072, metavar='MIB',
                        help='memory in MiB (default: %(default)s)')
    parser.add_argument('--kvm', action='store_true',
                        help='give the machine CPUs that can run KVM guests, '
                             'and load KVM')
    parser.add_argument('--cells', type=int, default=1, metavar='N',
                        help='number of NUMA cells (default: %(default)s)')
    parser.add_argument('--pages', type=int, default=0, metavar='N',
                        help='number of huge pages of 2 MiB in each cell')
    parser.add_argument('--sriov', action='store_true',
                        help='give the machine an IOMMU, and a device with '
                             'virtual functions in its last cell')
    parser.add_argument('--root', choices=('disk', '9p'), default='disk',
                        help='where the root of the machine is: 9p is for '
                             'kernels that have no driver for the disk, or '
                             'no ext4 (default: %(default)s)')
    parser.add_argument('--parameter', action='append', default=[],
                        metavar='WORD', help='a word for the command line of '
                        'the kernel, for example skew_tick=1; give the '
                        'option again for each word')
    parser.add_argument('--icount', action='store_true',
                        help='use a deterministic clock, for tests of timing')
    parser.add_argument('--instruction', type=int, metavar='NS',
                        choices=machine.INSTRUCTIONS_NS,
                        default=machine.INSTRUCTION_NS,
                        help='the time of one instruction by that clock; with '
                             'a longer time, runs of busy tasks end sooner '
                             '(default: %(default)s)')
    parser.add_argument('--turns', action='store_true',
                        help='let the CPUs take turns, as --icount does, but '
                             "with the host's clock: the emulator then has no "
                             'races between CPUs')
    parser.add_argument('--timeout', type=float, default=1800,
                        metavar='SECONDS', help='when to end a boot '
                        '(default: %(default)s)')
    parser.add_argument('--output', type=pathlib.Path, metavar='DIR',
                        help='keep the console and the outputs in DIR')
    parser.add_argument('--cache', type=pathlib.Path, metavar='DIR',
                        help='where kernels and the disk are kept (default: '
                             f'${cache.VARIABLE}, or nova-rt-lab in the '
                             'cache of the user)')
    parser.add_argument('--record', type=pathlib.Path, metavar='FILE',
                        help='add the boot to this table (CSV)')
    parser.add_argument('--label', metavar='TEXT',
                        help='the name of the kernel in the table (default: '
                             'KERNEL)')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text')
    return parser


def _run(options: argparse.Namespace, command: Sequence[str]) -> int:
    boots = _boots(options, command)
    if options.timeout <= 0:
        raise programs.LabError(
            f'--timeout {options.timeout:g} is not a time: give seconds, more '
            'than 0')
    if options.record is not None and options.record.exists():
        table.parse(options.record.read_text())
    programs.require('qemu-system-x86_64')
    return max(_boot(options, one) for one in boots)


def _boots(options: argparse.Namespace, command: Sequence[str]
           ) -> list[series.Boot]:
    """Returns the boots to make, one after the other."""
    if options.kernel == series.ALL:
        if options.tests or command:
            raise programs.LabError(
                f'{series.ALL} has tests of its own: leave out '
                f'{" ".join([*options.tests, *command])}, or name one kernel')
        return series.boots()
    scripts = [(name, jobs.script(name)) for name in options.tests]
    if command:
        scripts.append((jobs.COMMAND, jobs.script(jobs.COMMAND, command)))
    return [series.Boot(options.kernel, _machine(options), scripts or [
        ('doctor', jobs.script('doctor'))])]


def _boot(options: argparse.Namespace, boot: series.Boot) -> verdict.Outcome:
    """Makes one boot, and prints and records its result at its end."""
    directory = options.cache or cache.default()
    with cache.opened(directory):
        kernel = kernels.find(boot.kernel, directory, options.modules)
        root = image.find(directory)
        if boot.machine.shares_root:
            root = image.tree(root)
    output = options.output and options.output / boot.directory
    wanted = dataclasses.replace(boot.machine, tsc_khz=tsc.khz())
    result = session.Session(kernel, wanted, root, boot.scripts,
                             options.timeout, output).run()
    if options.record is not None:
        table.record(options.record, options.label or kernel.name, result)
    print(verdict.as_json(result) if options.format == 'json'
          else verdict.as_text(result), flush=True)
    return result.outcome


def _machine(options: argparse.Namespace) -> machine.Machine:
    cpus = options.cpus
    if cpus is None:
        cpus = 1 if options.icount else machine.CPUS
    if not 1 <= cpus <= _MAX_CPUS:
        raise programs.LabError(
            f'--cpus {cpus} is not between 1 and {_MAX_CPUS}')
    if options.memory < _MIN_MEMORY:
        raise programs.LabError(
            f'--memory {options.memory} is too little: give at least '
            f'{_MIN_MEMORY} (MiB)')
    cells = options.cells
    if cells < 1 or cpus % cells or options.memory % cells:
        raise programs.LabError(
            f'--cells {cells} does not divide {cpus} CPUs and '
            f'{options.memory} MiB into equal parts: give other --cpus or '
            '--memory')
    if not 0 <= options.pages * cells * _PAGE <= options.memory // 2:
        raise programs.LabError(
            f'--pages {options.pages} in each of {cells} cells is more than '
            f'half of the {options.memory} MiB: give fewer, or more --memory')
    return machine.Machine(cpus, options.memory, options.cgroup,
                           options.icount, options.instruction, options.kvm,
                           cells, options.pages, options.root == '9p',
                           tuple(options.parameter), options.turns,
                           devices.find() if options.sriov else '')
