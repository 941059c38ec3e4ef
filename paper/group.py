# SPDX-License-Identifier: Apache-2.0

"""Makes a control group with a reservation, as nova-compute does.

The module uses the kernel interface of the host.
"""

from collections.abc import Callable, Iterator
import contextlib
import functools
import pathlib

from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from paper import room
from rt_models.colocation import group as rt_group

GROUP = room.GROUP
#: The group of a neighbour with a reservation of its own.
NEIGHBOUR = f'{GROUP}-neighbour'
#: Priorities of SCHED_RR: of the server, and of a neighbour whose period is
#: longer or shorter.
PRIORITY, LOWER, HIGHER = 30, 20, 40


#: The greatest weights of control groups, by the file of the weight.
_HEAVIEST = {'cpu.shares': 262_144, 'cpu.weight': 10_000}


@contextlib.contextmanager
def heavy() -> Iterator[Callable[[int], None]]:
    """Yields a function that puts processes into a group of great weight.

    The group has no reservation: its ordinary tasks share a CPU with each
    other, and other tasks of the machine get next to nothing meanwhile.

    :raises KernelError: when the host has no controller cpu
    """
    hierarchy = survey.hierarchy_of(fs.RealFS())
    if hierarchy is None:
        raise _no_controller(GROUP)
    path = pathlib.Path(hierarchy.mount, GROUP.strip('/'))
    path.mkdir(exist_ok=True)
    try:
        for name, weight in _HEAVIEST.items():
            if (path / name).exists():
                (path / name).write_text(str(weight))
        yield lambda process: _move(path, process)
    finally:
        path.rmdir()


@contextlib.contextmanager
def reserved(reservation: rt_reservation.Reservation, cpu: int,
             group: str = GROUP, priority: int = PRIORITY
             ) -> Iterator[Callable[[int], None]]:
    """Yields a function that puts processes in, which end with the block.

    :param group: GROUP or NEIGHBOUR
    :param priority: the priority for SCHED_RR; if the kernel decides by
        priorities, the server with the shorter period needs the higher
        priority
    :raises KernelError: when the host has no interface
    :raises NoRoom: when the kernel has not enough room
    """
    room.require(reservation)
    files = fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None:
        raise _no_controller(group)
    path = pathlib.Path(hierarchy.mount, group.strip('/'))
    path.mkdir(exist_ok=True)
    try:
        with rt_group.budget(files, path, (cpu,), reservation):
            yield functools.partial(_enter, files, path,
                                    hierarchy.controller, priority)
    finally:
        path.rmdir()


def _no_controller(group: str) -> exception.KernelError:
    return exception.KernelError(
        interface='any', group=group,
        reason='the cgroup controller cpu is not mounted')


def _enter(files: fs.RealFS, path: pathlib.Path, controller: str,
           priority: int, process: int) -> None:
    _move(path, process)
    tasks.Tasks(files).make_real_time(f'/{path.name}', controller, 0, 'rr',
                                      priority)


def _move(path: pathlib.Path, process: int) -> None:
    (path / 'cgroup.procs').write_text(str(process))
