# SPDX-License-Identifier: Apache-2.0

"""The control group of a function: its CPUs, CPU time and reservation."""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import tempfile

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks
from nova_rt.machine import privsep
from nova_rt.machine.trial import temporary
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

#: The SCHED_RR priority that nova-compute gives to containers.  A load has one
#: less, so that the function finishes its work before more arrives.
PRIORITY = 10
#: The nice value by which the load of an ordinary function yields to it.
_NICE = 10
#: What the root group hands out, on kernels where it starts with nothing.
_ROOT_PPM = 900_000
_PATIENCE_S = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """The control group of the processes of a function.

    :ivar trees: the directories of the group; the last one has the CPU time
    :ivar cpus: the pCPUs that all processes are bound to
    :ivar is_reserved: whether the group has a reservation
    :ivar folder: a directory for files, which is removed with the group
    """

    trees: tuple[pathlib.Path, ...]
    cpus: tuple[int, ...]
    is_reserved: bool
    folder: pathlib.Path

    def used_ns(self) -> int:
        """Returns the CPU time of all tasks that ever ran in the group."""
        path = self.trees[-1] / 'cpuacct.usage'
        if path.exists():
            return int(path.read_text())
        words = (self.trees[-1] / 'cpu.stat').read_text().split()
        return 1000 * int(words[words.index('usage_usec') + 1])

    def command(self, words: Sequence[str], is_load: bool = False
                ) -> list[str]:
        """Returns the command line that runs *words* in the group.

        :param is_load: whether the command is the load of the function
        """
        # The command starts only after it has entered the group: outside of
        # the group, nobody would end it.
        enter = ' && '.join(f'echo $$ > {path}/cgroup.procs'
                            for path in self.trees)
        if self.is_reserved:
            policy = ['chrt', '--rr', str(PRIORITY - is_load)]
        else:
            policy = ['nice', '-n', str(_NICE * is_load)]
        return ['sh', '-c', f'{enter} && exec "$@"', 'sh', 'taskset', '-c',
                ','.join(map(str, self.cpus)), *policy, *words]

    def run(self, words: Sequence[str]) -> None:
        """Runs a command to its end.

        :raises CannotMeasure: when the command fails; its text is the error
            of the command
        """
        try:
            subprocess.run(self.command(words), check=True, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=_PATIENCE_S)
        except subprocess.CalledProcessError as error:
            raise failed(words, error.stderr) from error
        except subprocess.TimeoutExpired as error:
            raise failed(words, f'it took more than {_PATIENCE_S} s'
                         ) from error


def failed(words: Sequence[str], errors: str) -> exception.CannotMeasure:
    """Returns the error for a command of a profile that failed.

    :param errors: the output of the command on standard error
    """
    lines = errors.strip().splitlines() or [
        'the command failed without a message']
    return exception.CannotMeasure(what=' '.join(words)[:80],
                                   reason=lines[0].strip()[:200])


@contextlib.contextmanager
def up(name: str, cpus: tuple[int, ...],
       reservation: rt_reservation.Reservation | None) -> Iterator[Group]:
    """Creates a group and removes it with its processes after the block.

    :param name: the name of the group, which is at the top of the hierarchy
    :param reservation: the reservation on each of the pCPUs; None: tasks are
        ordinary
    :raises CannotMeasure: when this host has no control groups for CPU time
    :raises KernelError: when the host has no room for the reservation
    """
    files = fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None or os.geteuid() != 0:
        raise exception.CannotMeasure(
            what='this host', reason='this needs root and the cgroup '
            'controller cpu')
    trees = [pathlib.Path(hierarchy.mount, name)]
    if hierarchy.controller:
        used = pathlib.Path(tasks.Tasks(files).mount_of('cpuacct'), name)
        trees += [used] if used.resolve() != trees[0].resolve() else []
    folder = tempfile.mkdtemp(prefix='nova-rt-')
    with temporary.reaped(trees, folder):
        for path in trees:
            temporary.make(path)
        group = Group(tuple(trees), cpus, reservation is not None,
                      pathlib.Path(folder))
        if reservation is None:
            yield group
        else:
            with budget(files, trees[0], cpus, reservation):
                try:
                    yield group
                finally:
                    temporary.end(trees[0])


@contextlib.contextmanager
def budget(files: fs.RealFS, path: pathlib.Path, cpus: tuple[int, ...],
           reservation: rt_reservation.Reservation) -> Iterator[None]:
    """Gives a group that exists a budget until the end of the block.

    :param path: the directory of the group, at the top of the hierarchy
    :raises KernelError: when the host has no room for the reservation
    """
    name = path.name
    # This process is root already, so it needs no privsep daemon.  Privsep
    # must be allowed to write to this group, which is not a server's.
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = privsep.TOPS | {name}
    interface = detect.detect(files)
    if interface is None:
        raise exception.KernelError(
            interface='any', group=f'/{name}',
            reason='this kernel has no interface that reserves CPU time for '
            'control groups')
    interface.prepare(_ROOT_PPM)
    if interface.binds_cpus:
        # The kernel creates the deadline servers on the CPUs that the group
        # has when the budget is written.
        temporary.confine(path, cpus)
    interface.reserve({f'/{name}': base.Budget(
        dict.fromkeys(cpus, reservation.runtime_us), reservation.period_us)})
    try:
        yield
    finally:
        # The kernel counts a removed group for some time, but the next group
        # needs the room at once.
        interface.release([f'/{name}'])
