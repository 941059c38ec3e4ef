# SPDX-License-Identifier: Apache-2.0

"""Gives reservations on one pCPU to a server and to its noisy neighbour.

Each place holds reservations as nova-compute does on a kernel of this kind,
and says whether nova-rt offers both reservations on one pCPU.  A place also
runs the neighbour's tasks.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import functools
import os
import pathlib
from typing import Protocol

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation as rt_reservation
from nova_rt.rules import schedulability
from paper import group
from paper import room
from paper import rtwalk
from paper import scheduling

#: Puts a process into a place.
Enter = Callable[[int], None]
Reservation = rt_reservation.Reservation
#: What a neighbour runs: pairs of busy us and period us.
Tasks = Sequence[tuple[int, int]]
#: As many priorities as nova-rt uses on kernels with fixed priorities.
_LEVELS = 48
#: of [nova_rt] min_divided_runtime_us
_MIN_DIVIDED_US = 100


class NotSold(exception.RTError):
    """nova-rt does not offer both reservations on one pCPU of this kernel."""

    msg_fmt = ('%(server)s beside %(noise)s does not fit on a pCPU here: '
               '%(reason)s.  Name another --pair.')


class Place(Protocol):
    """A way to hold reservations."""

    name: str

    def check(self, server: Reservation, noise: Reservation) -> int:
        """Returns the ppm of a pCPU that this kernel offers.

        :raises NotSold: when the two do not fit
        """

    def server(self, reservation: Reservation
               ) -> contextlib.AbstractContextManager[Enter]:
        """Yields a function that gives a server its reservation."""

    def noise(self, reservation: Reservation, tasks: Tasks
              ) -> contextlib.AbstractContextManager[None]:
        """Runs a neighbour with a reservation of its own."""


class Fair:
    """No reservations: all tasks are ordinary tasks on the pCPU."""

    @contextlib.contextmanager
    def server(self) -> Iterator[Enter]:
        """Yields a function that brings a server to its pCPU."""
        yield _keep

    @contextlib.contextmanager
    def noise(self, tasks: Tasks) -> Iterator[None]:
        """Runs a neighbour."""
        with _running(tasks, _keep):
            yield


class Deadline:
    """Each server is one SCHED_DEADLINE thread, like a vCPU of a guest.

    A guest with one vCPU runs its tasks in turn on that thread, so one thread
    does the work of all tasks of the neighbour.
    """

    name = 'deadline'

    def check(self, server: Reservation, noise: Reservation) -> int:
        """See Place.check; under EDF, the sum of the bandwidths decides."""
        files = fs.RealFS()
        hierarchy = _hierarchy(files)
        privsep.cgroup_pctxt.set_client_mode(False)
        offered = deadline.Admission(
            files, hierarchy.mount, privsep.read_server).ppm(
                deadline.read_other_threads(hierarchy.controller))
        wanted = server.bandwidth + noise.bandwidth
        if wanted > offered:
            raise _not_sold(server, noise, f'together they are {wanted} ppm, '
                            f'and this kernel offers {offered}')
        return offered

    @contextlib.contextmanager
    def server(self, reservation: Reservation) -> Iterator[Enter]:
        """See Place.server."""
        with _cpuset(group.GROUP) as confine:
            yield functools.partial(_deadline, reservation, confine)

    @contextlib.contextmanager
    def noise(self, reservation: Reservation, tasks: Tasks) -> Iterator[None]:
        """See Place.noise."""
        busy = sum(busy_us for busy_us, _ in tasks)
        with (_cpuset(group.NEIGHBOUR) as confine,
              _running([(min(busy, tasks[0][1]), tasks[0][1])],
                       functools.partial(_deadline, reservation, confine))):
            yield


class Groups:
    """Each server is a control group with a budget, like a container."""

    name = 'groups'
    #: of the neighbour's tasks
    priority = group.LOWER

    def check(self, server: Reservation, noise: Reservation) -> int:
        """See Place.check."""
        interface = room.interface()
        if interface is None:
            raise _not_sold(server, noise, (
                'this kernel has no budgets for control groups'))
        found = interface.capacity(group.GROUP)
        if found.others:
            room.check(found, (server, noise))
        if server.bandwidth + noise.bandwidth > found.ppm:
            raise _not_sold(server, noise, (
                f'this kernel offers {found.ppm} ppm'))
        rule = schedulability.FixedPriorities(
            _LEVELS, found.tick_us, found.min_period_us)
        if found.fixed_priorities and not self.holds(rule, server, noise):
            raise _not_sold(server, noise, (
                f'{interface.name} cannot give each its runtime in time'))
        return found.ppm

    def holds(self, rule: schedulability.FixedPriorities,
              server: Reservation, noise: Reservation) -> bool:
        """Tells whether both fit on a pCPU."""
        return rule.holds((server, noise))

    @contextlib.contextmanager
    def server(self, reservation: Reservation) -> Iterator[Enter]:
        """See Place.server."""
        with group.reserved(reservation, scheduling.SERVER_CPU) as enter:
            yield functools.partial(_keep_in, enter)

    @contextlib.contextmanager
    def noise(self, reservation: Reservation, tasks: Tasks) -> Iterator[None]:
        """See Place.noise."""
        with (group.reserved(reservation, scheduling.SERVER_CPU,
                             group.NEIGHBOUR, self.priority) as enter,
              _running(tasks, functools.partial(_keep_in, enter))):
            yield


class Divided(Groups):
    """Like Groups, but the kernel may get divided reservations.

    The neighbour comes when the server runs, so nova-compute divides the
    reservation of the neighbour (``nova_rt.rules.division``).
    """

    name = 'divided'
    _part: Reservation | None = None

    def holds(self, rule: schedulability.FixedPriorities,
              server: Reservation, noise: Reservation) -> bool:
        """See Groups.holds."""
        state = dataclasses.replace(
            cpus.CpuBandwidth.empty((0,), rt_reservation.PPM, True, rule),
            min_divided_us=_MIN_DIVIDED_US)
        parts = cpus.in_kernel(state, (server, noise), policies.first_fit)
        if parts is None:
            return False
        first, self._part = parts
        assert first == server  # noqa: S101
        if rule.level(self._part.period_us) > rule.level(server.period_us):
            self.priority = group.HIGHER
        return True

    @contextlib.contextmanager
    def noise(self, reservation: Reservation, tasks: Tasks) -> Iterator[None]:
        """See Place.noise."""
        with super().noise(self._part or reservation, tasks):
            yield


def _not_sold(server: Reservation, noise: Reservation, reason: str
              ) -> NotSold:
    server_us, noise_us = (f'{one.runtime_us}/{one.period_us} us'
                           for one in (server, noise))
    return NotSold(server=server_us, noise=noise_us, reason=reason)


PLACES: dict[str, type[Deadline] | type[Groups]] = {
    place.name: place for place in (Deadline, Groups, Divided)}


@contextlib.contextmanager
def _running(tasks: Tasks, enter: Enter) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for busy_us, period_us in tasks:
            process = stack.enter_context(rtwalk.running((
                str(rtwalk.PROGRAM), 'noise', str(busy_us), str(period_us))))
            enter(process.pid)
        yield


def _keep(process: int) -> None:
    os.sched_setaffinity(process, {scheduling.SERVER_CPU})


def _keep_in(enter: Enter, process: int) -> None:
    _keep(process)
    enter(process)


def _deadline(reservation: Reservation, confine: Enter, process: int) -> None:
    sched_setattr.start(process, reservation.runtime_us,
                        reservation.period_us)
    confine(process)


@contextlib.contextmanager
def _cpuset(name: str) -> Iterator[Enter]:
    """Yields a function that keeps a SCHED_DEADLINE thread on the pCPU.

    The thread first gets its policy, and then its cpuset shrinks, as in
    ``nova_rt.machine.kernel.pins``.  On a machine with one CPU, the function
    does nothing.
    """
    everywhere = sorted(os.sched_getaffinity(0))
    if len(everywhere) == 1:
        yield lambda process: None
        return
    tasks = kernel_tasks.Tasks(fs.RealFS())
    mount = pathlib.Path(tasks.mount_of(tasks.cpuset))
    path = mount / name.strip('/')
    path.mkdir()
    try:
        _set_up(mount, path, everywhere)
        yield functools.partial(_shrink, path)
    finally:
        path.rmdir()


def _set_up(mount: pathlib.Path, path: pathlib.Path, cpus: Sequence[int]
            ) -> None:
    mems = mount / 'cpuset.mems'
    if mems.exists():  # cgroup v1
        (path / mems.name).write_text(mems.read_text())
    (path / kernel_tasks.CPUSET).write_text(cpulist.format_ids(cpus))


def _shrink(path: pathlib.Path, process: int) -> None:
    (path / 'cgroup.procs').write_text(str(process))
    (path / kernel_tasks.CPUSET).write_text(str(scheduling.SERVER_CPU))


def _hierarchy(files: fs.RealFS) -> cgroup.Hierarchy:
    found = survey.hierarchy_of(files)
    if found is None:
        raise exception.KernelError(
            interface=deadline.NAME, group='/',
            reason='the cgroup controller cpu is not mounted')
    return found
