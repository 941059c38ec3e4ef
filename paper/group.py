# SPDX-License-Identifier: Apache-2.0

"""Makes a control group with a reservation, as nova-compute does.

The module uses the kernel interface of the host.
"""

from collections.abc import Callable, Iterator
import contextlib
import functools
import pathlib

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks
from nova_rt.machine import privsep
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

GROUP = '/nova-rt-experiments'
#: The group of a neighbour with a reservation of its own.
NEIGHBOUR = f'{GROUP}-neighbour'
#: Priorities of SCHED_RR: of the server, and of a neighbour whose period is
#: longer.
PRIORITY, LOWER = 30, 20


@contextlib.contextmanager
def reserved(reservation: rt_reservation.Reservation, cpu: int,
             group: str = GROUP, priority: int = PRIORITY
             ) -> Iterator[Callable[[int], None]]:
    """Yields a function that puts processes in, which end with the block.

    :param group: GROUP or NEIGHBOUR
    :param priority: the priority for SCHED_RR; if the kernel decides by
        priorities, the server with the shorter period needs the higher
        priority
    :raises KernelError: when the host has no interface or not enough room
    """
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = frozenset(
        name.strip('/') for name in (GROUP, NEIGHBOUR))
    files = fs.RealFS()
    interface, hierarchy = detect.detect(files), survey.hierarchy_of(files)
    if interface is None or hierarchy is None:
        raise exception.KernelError(
            interface='any', group=group,
            reason='this kernel has no interface for control groups')
    path = pathlib.Path(hierarchy.mount, group.strip('/'))
    path.mkdir(exist_ok=True)
    try:
        interface.reserve({group: base.Budget(
            {cpu: reservation.runtime_us}, reservation.period_us)})
        try:
            yield functools.partial(_enter, files, path,
                                    hierarchy.controller, priority)
        finally:
            interface.release([group])
    finally:
        path.rmdir()


def _enter(files: fs.RealFS, path: pathlib.Path, controller: str,
           priority: int, process: int) -> None:
    (path / 'cgroup.procs').write_text(str(process))
    tasks.Tasks(files).make_real_time(f'/{path.name}', controller, 0, 'rr',
                                      priority)
