# SPDX-License-Identifier: Apache-2.0

"""``nova-rt conformance``: tests the kernel of a host before production."""

import argparse
import os
import pathlib
import re
import signal
import sys
import types
from typing import Any, NoReturn, TYPE_CHECKING

from nova_rt.cli import base
from nova_rt.cli import formats
from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import survey
from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_operate.conformance import cases
from rt_operate.conformance import outcome
from rt_operate.conformance import report
from rt_operate.conformance import stage
from rt_operate.conformance import threads

if TYPE_CHECKING:
    from nova_rt.machine.kernel import base as kernel_base
    from nova_rt.machine.kernel import fs

_WARNING = """\
This command starts real-time tasks that fill a pCPU, and changes their
budgets in ways in which kernels have had defects.  A kernel with such a
defect can hang or panic: run the command only on a spare host that
runs nothing that you need.  Start the command again with
--this-host-may-crash."""
_FLAG = '--this-host-may-crash'
#: ppm of each pCPU that nova-compute asks the kernel for by default.
_WANTED_PPM = round(defaults.CPU_CAP * reservation.PPM)
#: ppm of each pCPU that the cases need.
_NEEDED_PPM = 900_000
_KMSG = '/dev/kmsg'
_COMPLAINT = re.compile(r'WARNING: .*|BUG: .*|.*rcu.*stall.*')


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``conformance``."""
    parser = commands.add_parser(
        'conformance', help='test on a spare host whether its kernel keeps '
                            'its promises',
        description='Starts busy tasks, and reserves CPU time for them. '
                    'Resizes, overloads, moves and releases these '
                    'reservations, and compares the CPU time that the tasks '
                    'get with the promises of the kernel '
                    'interface.  ' + _WARNING.replace(
                        '\n', ' '),
        epilog='Exit status: 0 the kernel keeps every promise that its '
               'interface makes, 1 a promise is broken or could not be tried, '
               '3 wrong usage.')
    formats.add_option(parser, lists=True)
    parser.add_argument(_FLAG, action='store_true', dest='consent',
                        help='confirm that this host may crash')
    parser.add_argument(
        '--sched-deadline', action='store_true',
        help='try SCHED_DEADLINE threads, as for the vCPUs of virtual '
             'machines, even if the kernel has budgets for groups')
    parser.add_argument('--case', action='append', choices=tuple(cases.CASES),
                        help='try only this case; may be repeated')
    parser.add_argument(
        '--tolerance', type=_tolerance, default=outcome.TOLERANCE,
        metavar='SHARE', help='how far a share may differ from the promise '
                              '(default: %(default)s of a CPU)')
    parser.add_argument(
        '--log', type=pathlib.Path, metavar='FILE',
        help='write a line to FILE, and to the disk, before and after each '
             'case, so that the last line names the case in which a host '
             'died')
    parser.set_defaults(run=run)


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f'{text} is not a part of a CPU between 0 and 1')
    return value


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    if not args.consent:
        print(_WARNING, file=sys.stderr)
        return base.USAGE
    if os.geteuid():
        print('nova-rt: conformance needs root; run it as root',
              file=sys.stderr)
        return base.USAGE
    namespaces.verify(host_files.Host())
    # Imported here, because they need oslo.privsep, which the other
    # subcommands do without.
    from nova_rt.machine.kernel import fs as kernel_fs
    from nova_rt.machine import privsep
    privsep.cgroup_pctxt.set_client_mode(False)
    # This changes this process only, in which no other code of nova-rt runs.
    privsep.TOPS = frozenset((stage.TOP,))
    files = kernel_fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None:
        raise exception.KernelError(
            interface='conformance', group='/',
            reason='the cgroup cpu controller is not mounted, so there is '
                   'nothing to try')
    interface = None if args.sched_deadline else detect.detect(files)
    chosen_stage = (_threads(files, hierarchy) if interface is None else
                    stage.GroupStage(interface, hierarchy.mount, _cpus(),
                                     _prepare(interface)))
    outcomes = _try(args, chosen_stage)
    facts = report.Facts(
        interface.name if interface else deadline.NAME, os.uname().release,
        1 if hierarchy.controller else 2, chosen_stage.ppm,
        not (interface and interface.replicated))
    formats.show(args, lambda: report.as_text(facts, outcomes),
                 lambda: report.as_json(facts, outcomes),
                 lambda: report.as_table(outcomes))
    return int(any(result.level is outcome.Verdict.BROKEN
                   for result in outcomes))


def _threads(files: 'fs.RealFS', hierarchy: cgroup.Hierarchy
             ) -> threads.DeadlineStage:
    """Returns the stage for a kernel that gives no budgets to groups.

    :raises KernelError: when the host is not spare or cannot be tried
    """
    from nova_rt.machine.kernel import tasks
    from nova_rt.machine import privsep
    admission = deadline.Admission(files, hierarchy.mount,
                                   privsep.read_server)
    host_tasks = tasks.Tasks(files)
    try:
        ppm = admission.ppm(deadline.read_other_threads(hierarchy.controller))
        mount = host_tasks.mount_of(host_tasks.cpuset)
        domain = admission.cpus()
    except (OSError, LookupError, ValueError) as error:
        raise exception.KernelError(
            interface=deadline.NAME, group='/', reason=str(error)) from error
    threads.check_spare(_NEEDED_PPM, ppm)
    return threads.DeadlineStage(mount, _cpus(), ppm, domain)


def _prepare(interface: 'kernel_base.KernelInterface') -> int:
    """Makes the kernel hand out its share and returns that share in ppm.

    :raises KernelError: when the host is not spare or cannot be tried
    """
    for partition in cgroup.GUEST_GROUPS:
        if interface.read(partition):
            raise exception.KernelError(
                interface=interface.name, group=partition,
                reason='the group has a budget, so this host has guests; use '
                       'a spare host, or end the guests and run nova-rt '
                       'release')
    interface.prepare(_WANTED_PPM)
    free_ppm = interface.capacity(f'/{stage.TOP}').ppm
    if free_ppm < _NEEDED_PPM:
        raise exception.KernelError(
            interface=interface.name, group='/',
            reason=f'{free_ppm} ppm '
                   f'{"in all" if interface.replicated else "of each pCPU"} '
                   f'are free, but the cases need {_NEEDED_PPM}; nova-rt '
                   f'doctor shows what holds the rest')
    return free_ppm


def _cpus() -> tuple[int, int]:
    """Returns the last two pCPUs; most interrupts go to the first pCPUs."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[max(0, len(allowed) - 2)]


def _try(args: argparse.Namespace, chosen_stage: stage.Stage
         ) -> list[outcome.CaseOutcome]:
    log = report.Log(args.log)
    outcomes = []
    complaints = _Complaints()
    signal.signal(signal.SIGTERM, _leave)
    try:
        chosen_stage.clear()  # removes what a killed run has left
        for name in args.case or cases.CASES:
            log.write(f'{name}: begins')
            result = cases.run(name, chosen_stage, args.tolerance)
            log.write(f'{name}: {result.level.value}: {result.observed}')
            outcomes.append(result)
    finally:
        chosen_stage.clear()
    outcomes.append(complaints.outcome())
    return outcomes


def _leave(number: int, frame: types.FrameType | None) -> NoReturn:
    """Ends the process by an exception, so that the stage is cleared."""
    raise SystemExit(128 + number)


class _Complaints:
    """The warnings that the kernel logs from now on."""

    def __init__(self) -> None:
        try:
            self._handle: int | None = os.open(
                _KMSG, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self._handle, 0, os.SEEK_END)
        except OSError:
            self._handle = None

    def outcome(self) -> outcome.CaseOutcome:
        """Returns the outcome of the case ``kernel log``."""
        if self._handle is None:
            return outcome.CaseOutcome('kernel log', outcome.Verdict.SKIPPED,
                                       f'{_KMSG} cannot be read')
        complaints = dict.fromkeys(_COMPLAINT.findall(self._rest()))
        os.close(self._handle)
        return outcome.CaseOutcome(
            'kernel log',
            outcome.Verdict.BROKEN if complaints else outcome.Verdict.KEPT,
            '; '.join(complaints) or 'no warning')

    def _rest(self) -> str:
        parts = []
        while True:
            try:
                parts.append(os.read(self._handle or 0, 8192))
            except BlockingIOError:
                return b''.join(parts).decode(errors='replace')
            except BrokenPipeError:
                continue  # older lines were overwritten
