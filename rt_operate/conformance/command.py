# SPDX-License-Identifier: Apache-2.0

"""``nova-rt conformance``: try this host's kernel before production."""

import argparse
import os
import pathlib
import re
import signal
import sys
import types
from typing import Any, NoReturn, TYPE_CHECKING

from nova_rt.cli import base
from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import survey
from nova_rt.rules import exception
from rt_operate.conformance import cases
from rt_operate.conformance import outcome
from rt_operate.conformance import report
from rt_operate.conformance import stage
from rt_operate.conformance import threads

if TYPE_CHECKING:
    from nova_rt.machine.kernel import base as kernel_base
    from nova_rt.machine.kernel import fs

_WARNING = """\
This makes real-time tasks that fill a pCPU and changes their budgets in ways
that kernels have had defects in.  A kernel with such a defect can hang or
panic: run it on a spare host only, with nothing on it that you would miss.
Start it again with --this-host-may-crash."""
_FLAG = '--this-host-may-crash'
#: ppm of each pCPU that the cases need.
_NEEDED_PPM = 900_000
_KMSG = '/dev/kmsg'
_COMPLAINT = re.compile(r'WARNING: .*|BUG: .*|.*rcu.*stall.*')


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'conformance', help='try on a spare host what its kernel promises',
        description='Reserves, resizes, overloads, moves and releases busy '
                    'tasks of its own and compares what they get with what '
                    'the kernel interface promises.  ' + _WARNING.replace(
                        '\n', ' '),
        epilog='Exit status: 0 all is kept (or known of the interface), 1 '
               'something is not, or it could not be tried, 3 wrong usage.')
    base.add_format(parser)
    parser.add_argument(_FLAG, action='store_true', dest='consent',
                        help='you know, and want it')
    parser.add_argument(
        '--sched-deadline', action='store_true',
        help='try SCHED_DEADLINE threads, as the vCPUs of virtual machines '
             'are, also where the kernel has budgets for groups')
    parser.add_argument('--case', action='append', choices=tuple(cases.CASES),
                        help='this case only; may be repeated')
    parser.add_argument(
        '--tolerance', type=_tolerance, default=outcome.TOLERANCE,
        metavar='SHARE', help='how far a share may be off (default: '
                              '%(default)s of a CPU)')
    parser.add_argument(
        '--log', type=pathlib.Path, metavar='FILE',
        help='each case is written there, and to the disk, before it begins '
             'and after it: the last line says what a dead host died of')
    parser.set_defaults(run=run)


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f'{text} is not between 0 and 1 (part of a CPU)')
    return value


def run(args: argparse.Namespace) -> int:
    if not args.consent:
        print(_WARNING, file=sys.stderr)
        return base.USAGE
    if os.geteuid():
        print('nova-rt: conformance needs root; run it as root',
              file=sys.stderr)
        return base.USAGE
    namespaces.verify(host_files.Host())
    # They need oslo.privsep, which the other subcommands do without.
    from nova_rt.machine.kernel import fs as kernel_fs
    from nova_rt.machine import privsep
    privsep.cgroup_pctxt.set_client_mode(False)
    # In this process only, where nothing else of nova-rt runs.
    privsep.TOPS = frozenset((stage.TOP,))
    files = kernel_fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None:
        raise exception.KernelError(
            interface='conformance', group='/',
            reason='the cgroup controller cpu is mounted nowhere, so there '
                   'is nothing to try')
    interface = None if args.sched_deadline else detect.detect(files)
    on = (_threads(files, hierarchy) if interface is None else
          stage.GroupStage(interface, hierarchy.mount, _cpus(),
                           _prepare(interface)))
    found = _try(args, on)
    facts = report.Facts(
        interface.name if interface else deadline.NAME, os.uname().release,
        1 if hierarchy.controller else 2, on.ppm)
    print(report.as_json(facts, found) if args.format == 'json'
          else report.as_text(facts, found))
    return int(any(one.level is outcome.Level.BROKEN for one in found))


def _threads(files: 'fs.RealFS', hierarchy: cgroup.Hierarchy
             ) -> threads.DeadlineStage:
    """Where the kernel has no budgets for groups.

    :raises KernelError: the host is not spare, or cannot be tried
    """
    from nova_rt.machine.kernel import tasks
    from nova_rt.machine import privsep
    admission = deadline.Admission(files, hierarchy.mount,
                                   privsep.read_server)
    known = tasks.Tasks(files)
    try:
        ppm = admission.ppm(deadline.look(hierarchy.controller))
        mount = known.mount_of(known.cpuset)
        domain = admission.cpus()
    except (OSError, LookupError, ValueError) as error:
        raise exception.KernelError(
            interface=deadline.NAME, group='/', reason=str(error)) from error
    threads.check_spare(_NEEDED_PPM, ppm)
    return threads.DeadlineStage(mount, _cpus(), ppm, domain)


def _prepare(interface: 'kernel_base.KernelInterface') -> int:
    """Have the kernel hand out its share; what there is of it, in ppm.

    :raises KernelError: the host is not spare, or cannot be tried
    """
    for partition in cgroup.PARTITIONS:
        if interface.read(partition):
            raise exception.KernelError(
                interface=interface.name, group=partition,
                reason='it has a budget: this host has guests; try a spare '
                       'one, or end them and run nova-rt release')
    interface.prepare(_NEEDED_PPM)
    found = interface.capacity(f'/{stage.TOP}').ppm
    if found < _NEEDED_PPM:
        raise exception.KernelError(
            interface=interface.name, group='/',
            reason=f'{found} ppm of each pCPU are free and the cases need '
                   f'{_NEEDED_PPM}; see nova-rt doctor for who holds them')
    return found


def _cpus() -> tuple[int, int]:
    """The last two pCPUs; most interrupts go to the first ones."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[max(0, len(allowed) - 2)]


def _try(args: argparse.Namespace, on: stage.Stage) -> list[outcome.Outcome]:
    log = report.Log(args.log)
    found = []
    complaints = _Complaints()
    signal.signal(signal.SIGTERM, _leave)
    try:
        on.clear()  # left by a run that was killed
        for name in args.case or cases.CASES:
            log.write(f'{name}: begins')
            one = cases.run(name, on, args.tolerance)
            log.write(f'{name}: {one.level.value}: {one.observed}')
            found.append(one)
    finally:
        on.clear()
    found.append(complaints.outcome())
    return found


def _leave(number: int, frame: types.FrameType | None) -> NoReturn:
    """End as after an exception: what was made is removed."""
    raise SystemExit(128 + number)


class _Complaints:
    """What the kernel logs from now on, on its own account."""

    def __init__(self) -> None:
        try:
            self._handle: int | None = os.open(
                _KMSG, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self._handle, 0, os.SEEK_END)
        except OSError:
            self._handle = None

    def outcome(self) -> outcome.Outcome:
        if self._handle is None:
            return outcome.Outcome('kernel log', outcome.Level.SKIPPED,
                                   f'{_KMSG} cannot be read')
        found = dict.fromkeys(_COMPLAINT.findall(self._rest()))
        os.close(self._handle)
        return outcome.Outcome(
            'kernel log',
            outcome.Level.BROKEN if found else outcome.Level.KEPT,
            '; '.join(found) or 'no warning')

    def _rest(self) -> str:
        parts = []
        while True:
            try:
                parts.append(os.read(self._handle or 0, 8192))
            except BlockingIOError:
                return b''.join(parts).decode(errors='replace')
            except BrokenPipeError:
                continue  # older lines were overwritten
