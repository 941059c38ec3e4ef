# SPDX-License-Identifier: Apache-2.0

"""``nova-rt release``: give back the budgets of guests that have ended."""

import argparse
from collections.abc import Iterable, Iterator
import contextlib
import dataclasses
import json
import os
import posixpath
import sys
from typing import Any, TYPE_CHECKING

from nova_rt.cli import base as cmd_base
from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests
from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.operate.doctor import options as doctor_options
from nova_rt.rules import exception
from rt_monitor import domains

if TYPE_CHECKING:
    from nova_rt.machine.kernel import tasks as kernel_tasks


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'release', help='give back the budgets of guests that have ended',
        description='Takes back the budgets of guests that have no task any '
                    'more, and the room above them, as nova-compute does in '
                    'each audit.  For hosts on which it does not run any '
                    'more.  Run it as root.',
        epilog='Exit status: 0 done, 1 it cannot be told who has ended, or '
               'the kernel refused, 3 wrong usage.')
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: those of nova-compute)')
    cmd_base.add_format(parser)
    parser.set_defaults(run=run)


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """What was given back.

    :ivar released: the groups that had a budget and no task
    :ivar kept: the top group, where guests that run keep their budgets
    """

    released: list[str]
    kept: str | None

    def __str__(self) -> str:
        texts = [f'{group}: it has no task, and gave its budget back'
                 for group in self.released]
        if self.kept:
            texts.append(f'{self.kept}: guests that run keep their budgets')
        return '\n'.join(texts)


def run(args: argparse.Namespace) -> int:
    if os.geteuid():
        print('nova-rt: release needs root; run it as root', file=sys.stderr)
        return cmd_base.USAGE
    namespaces.verify(host_files.Host())
    # They need oslo.privsep, which the other subcommands do without.
    from nova_rt.machine.kernel import fs
    from nova_rt.machine.kernel import tasks as kernel_tasks
    from nova_rt.machine import privsep

    options = doctor_options.load(args.config_file)
    if options.trouble:
        print(f'The kernel interface is probed: {options.trouble}.',
              file=sys.stderr)
    # Root needs no other process to write for it.
    privsep.cgroup_pctxt.set_client_mode(False)
    files = fs.RealFS()
    interface = _interface(files, options.kernel_interface)
    running = domains.keepers(host_files.Host())
    given = (give_back(interface, kernel_tasks.Tasks(files), running)
             if interface else Given([], None))
    if args.format == 'json':
        print(json.dumps(dataclasses.asdict(given), indent=2))
    elif interface is None:
        print('This kernel has no budgets for groups.')
    elif str(given):
        print(given)
    return 0


def give_back(interface: base.KernelInterface, tasks: 'kernel_tasks.Tasks',
              running: Iterable[int]) -> Given:
    """Take what no guest runs in.

    :param running: the processes that keep the guests of which libvirt says
        that they run
    :raises KernelError: the kernel refused
    """
    top = tasks.partition(interface.controller)
    ours = list(_domains(tasks, interface.controller, running))
    idle = [group for group
            in tasks.idle_groups(top, interface.controller)
            if not any(cgroup.is_below(group, domain) for domain in ours)]
    found = [group for group in idle if interface.read(group)]
    if found:
        interface.release(found)
    # A group in the middle may have one though those below have none.
    for group in sorted({posixpath.dirname(group) for group in idle}):
        interface.settle(group)
    interface.settle(top)
    return Given(found, top if interface.read(top) else None)


def _domains(tasks: 'kernel_tasks.Tasks', controller: str,
             running: Iterable[int]) -> Iterator[str]:
    """Yields the groups of guests that run."""
    for pid in running:
        with contextlib.suppress(LookupError):  # it has ended
            yield guests.domain(tasks.group_of(pid, controller))


def _interface(files: cgroup.CgroupFS, name: str | None
               ) -> base.KernelInterface | None:
    """:raises InvalidConfiguration: there is none of this name"""
    if name == deadline.NAME:
        name = None  # what was there before it is to be found
    try:
        return detect.detect(files, name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='kernel_interface', value=name, rule=error.args[0]
        ) from error
