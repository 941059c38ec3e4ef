# SPDX-License-Identifier: Apache-2.0

"""The control group of one function: a CPU, its use, and a reservation."""

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

#: Of SCHED_RR, as nova-compute gives to containers; a load has one less, so
#: that what it sends is done before more comes.
PRIORITY = 10
#: And what makes the load of ordinary functions yield to them.
_NICE = 10
#: What the root group hands out, where it starts with nothing.
_ROOT_PPM = 900_000
_PATIENCE_S = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Where the processes of a function are.

    :ivar trees: its directories, the one that tells the use last
    :ivar cpus: the pCPUs that all are bound to
    :ivar folder: for files, gone with the group
    """

    trees: tuple[pathlib.Path, ...]
    cpus: tuple[int, ...]
    is_reserved: bool
    folder: pathlib.Path

    def used_ns(self) -> int:
        """CPU time of all that ever ran in it."""
        path = self.trees[-1] / 'cpuacct.usage'
        if path.exists():
            return int(path.read_text())
        words = (self.trees[-1] / 'cpu.stat').read_text().split()
        return 1000 * int(words[words.index('usage_usec') + 1])

    def command(self, words: Sequence[str], is_load: bool = False
                ) -> list[str]:
        """The command line that runs *words* here."""
        # Not outside of it, where nobody would end it.
        enter = ' && '.join(f'echo $$ > {path}/cgroup.procs'
                            for path in self.trees)
        if self.is_reserved:
            policy = ['chrt', '--rr', str(PRIORITY - is_load)]
        else:
            policy = ['nice', '-n', str(_NICE * is_load)]
        return ['sh', '-c', f'{enter} && exec "$@"', 'sh', 'taskset', '-c',
                ','.join(map(str, self.cpus)), *policy, *words]

    def run(self, words: Sequence[str]) -> None:
        """Run a command to its end.

        :raises CannotMeasure: it fails, with what it says
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


def failed(words: Sequence[str], said: str) -> exception.CannotMeasure:
    """A command of a profile that ended badly."""
    lines = said.strip().splitlines() if said.strip() else ['it says nothing']
    return exception.CannotMeasure(what=' '.join(words)[:80],
                                   reason=lines[0].strip()[:200])


@contextlib.contextmanager
def up(name: str, cpus: tuple[int, ...],
       reservation: rt_reservation.Reservation | None) -> Iterator[Group]:
    """A group, gone with all that is in it at the end of the block.

    :param name: of a group at the top
    :param reservation: on each of the pCPUs; None: tasks are ordinary
    :raises CannotMeasure: this host has no such groups
    :raises KernelError: it has no such reservation left
    """
    files = fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None or os.geteuid() != 0:
        raise exception.CannotMeasure(
            what='this host', reason='it takes root and the controller cpu')
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
            with _reserved(files, trees[0], cpus, reservation):
                try:
                    yield group
                finally:
                    temporary.end(trees[0])


@contextlib.contextmanager
def _reserved(files: fs.RealFS, path: pathlib.Path, cpus: tuple[int, ...],
              reservation: rt_reservation.Reservation) -> Iterator[None]:
    name = path.name
    # We are root already, and these groups are no servers.
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = privsep.TOPS | {name}
    interface = detect.detect(files)
    if interface is None:
        raise exception.KernelError(
            interface='any', group=f'/{name}',
            reason='this kernel has none that reserves for control groups')
    interface.prepare(_ROOT_PPM)
    if interface.binds_cpus:
        # Its servers are where the group is when the budget is written.
        temporary.confine(path, cpus)
    interface.reserve({f'/{name}': base.Budget(
        dict.fromkeys(cpus, reservation.runtime_us), reservation.period_us)})
    try:
        yield
    finally:
        # The kernel counts a group that was removed for a while yet, and the
        # next ones need the room.
        interface.release([f'/{name}'])
