# SPDX-License-Identifier: Apache-2.0

"""Makes a control group with a reservation, as nova-compute does.

It uses the kernel interface of the host.
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
#: The priority of SCHED_RR, above that of the noise.
PRIORITY = 30


@contextlib.contextmanager
def reserved(reservation: rt_reservation.Reservation, cpu: int
             ) -> Iterator[Callable[[int], None]]:
    """Yields a function that puts processes in; all must end in the block.

    :raises KernelError: when the host has no interface or not enough room
    """
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = frozenset((GROUP.strip('/'),))
    files = fs.RealFS()
    interface, hierarchy = detect.detect(files), survey.hierarchy_of(files)
    if interface is None or hierarchy is None:
        raise exception.KernelError(
            interface='any', group=GROUP,
            reason='this kernel has no interface for control groups')
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
