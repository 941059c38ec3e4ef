# SPDX-License-Identifier: Apache-2.0

"""``nova-rt release``: takes back the budgets of guests that have ended."""

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
from nova_rt.cli import formats
from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests
from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.rules import exception
from rt_monitor import domains
from rt_operate.doctor import options as doctor_options

if TYPE_CHECKING:
    from nova_rt.machine.kernel import tasks as kernel_tasks


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``release``."""
    parser = commands.add_parser(
        'release', help='take back the budgets of guests that have ended',
        description='Takes back the budgets of groups that have no task left, '
                    'as nova-compute does in each audit. Then lowers each '
                    'parent of these groups to the sum of its children. Use '
                    'this command on a host on which nova-compute no longer '
                    'runs. Run the command as root.',
        epilog='Exit status: 0 done, 1 it is not known which guests have '
               'ended, or the kernel refused, 3 wrong usage.')
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: the files that '
             'nova-compute reads)')
    formats.add_option(parser, lists=True)
    parser.set_defaults(run=run)


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """The result of a release.

    :ivar released: the groups that had a budget and no task
    :ivar kept: the top group, if running guests keep budgets below it
    """

    released: list[str]
    kept: str | None

    def __str__(self) -> str:
        texts = [f'{group}: the group has no task; its budget was taken back'
                 for group in self.released]
        if self.kept:
            texts.append(f'{self.kept}: running guests keep their budgets')
        return '\n'.join(texts)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    if os.geteuid():
        print('nova-rt: release needs root; run it as root', file=sys.stderr)
        return cmd_base.USAGE
    namespaces.verify(host_files.Host())
    # Imported here, because they need oslo.privsep, which the other
    # subcommands do without.
    from nova_rt.machine.kernel import fs
    from nova_rt.machine.kernel import tasks as kernel_tasks
    from nova_rt.machine import privsep

    options = doctor_options.load(args.config_file)
    if options.trouble:
        print('nova.conf could not be used, so the kernel interface is '
              f'probed: {options.trouble}.',
              file=sys.stderr)
    # This process is root and writes by itself, without a privsep daemon.
    privsep.cgroup_pctxt.set_client_mode(False)
    files = fs.RealFS()
    interface = _interface(files, options.kernel_interface)
    running = domains.keepers(host_files.Host())
    result = (give_back(interface, kernel_tasks.Tasks(files), running)
              if interface else Given([], None))
    formats.show(
        args, lambda: str(result) if interface else
        'This kernel has no interface that gives budgets to groups.',
        lambda: json.dumps(dataclasses.asdict(result), indent=2),
        lambda: formats.Table(('Group', 'State'), [
            *((group, 'released') for group in result.released),
            *([(result.kept, 'kept')] if result.kept else ())]))
    return 0


def give_back(interface: base.KernelInterface, tasks: 'kernel_tasks.Tasks',
              running: Iterable[int]) -> Given:
    """Takes back the budgets of groups in which no guest runs.

    :param running: the keepers of the guests that run, according to libvirt
    :raises KernelError: when the kernel refuses
    """
    top = tasks.partition(interface.controller)
    running_domains = list(_domains(tasks, interface.controller, running))
    idle = [group for group
            in tasks.idle_groups(top, interface.controller)
            if not any(cgroup.is_below(group, domain)
                       for domain in running_domains)]
    released = [group for group in idle if interface.read(group)]
    if released:
        interface.release(released)
    # A group in the middle may hold a budget although no group below it
    # does.
    for group in sorted({posixpath.dirname(group) for group in idle}):
        interface.settle(group)
    interface.settle(top)
    return Given(released, top if interface.read(top) else None)


def _domains(tasks: 'kernel_tasks.Tasks', controller: str,
             running: Iterable[int]) -> Iterator[str]:
    """Yields the groups of the guests that run."""
    for pid in running:
        with contextlib.suppress(LookupError):  # the process has ended
            yield guests.domain(tasks.group_of(pid, controller))


def _interface(files: cgroup.CgroupFS, name: str | None
               ) -> base.KernelInterface | None:
    """Returns the kernel interface that gives budgets to groups.

    :raises InvalidConfiguration: when no interface has this name
    """
    if name == deadline.NAME:
        # Budgets of groups are left from the time before this option.
        name = None
    try:
        return detect.detect(files, name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='kernel_interface', value=name, rule=error.args[0]
        ) from error
