# SPDX-License-Identifier: Apache-2.0

"""A control group with a reservation, as nova-compute makes them.

Through the kernel interface that the host has.
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
#: Of SCHED_RR, above the noise.
PRIORITY = 30


@contextlib.contextmanager
def reserved(reservation: rt_reservation.Reservation, cpu: int
             ) -> Iterator[Callable[[int], None]]:
    """Yields what puts a process in; all have to end within the block.

    :raises KernelError: when the host has no interface, or not so much left
    """
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = frozenset((GROUP.strip('/'),))
    files = fs.RealFS()
    interface, hierarchy = detect.detect(files), survey.hierarchy_of(files)
    if interface is None or hierarchy is None:
        raise exception.KernelError(
            interface='any', group=GROUP,
            reason='this kernel has none that reserves for control groups')
    path = pathlib.Path(hierarchy.mount, GROUP.strip('/'))
    path.mkdir(exist_ok=True)
    try:
        interface.reserve({GROUP: base.Budget(
            {cpu: reservation.runtime_us}, reservation.period_us)})
        try:
            yield functools.partial(_enter, files, path,
                                    hierarchy.controller)
        finally:
            interface.release([GROUP])
    finally:
        path.rmdir()


def _enter(files: fs.RealFS, path: pathlib.Path, controller: str,
           process: int) -> None:
    (path / 'cgroup.procs').write_text(str(process))
    tasks.Tasks(files).make_real_time(GROUP, controller, 0, 'rr', PRIORITY)
