# SPDX-License-Identifier: Apache-2.0

"""Makes groups of this host that take the place of servers, for benchmarks.

Needs root and the ``cpu`` controller.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import pathlib
import subprocess

from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot

#: Where version 1 of control groups has this controller.
VERSION_1 = pathlib.Path('/sys/fs/cgroup/cpu')
TOP = (VERSION_1 if VERSION_1.is_dir() else VERSION_1.parent
       ) / f'nova-rt-bench-{os.getpid()}'
#: The sources without which there is nothing to compare.
NEEDED = ('sched', 'tcp')
_SECONDS = 30


@contextlib.contextmanager
def groups(*names: str) -> Iterator[dict[str, pathlib.Path]]:
    """Makes named groups below a group of ours, and removes empty groups."""
    _hand_on(TOP.parent)
    TOP.mkdir()
    _hand_on(TOP)
    made = {name: TOP / name for name in names}
    try:
        for path in made.values():
            path.mkdir()
        yield made
    finally:
        for path in made.values():
            path.rmdir()
        TOP.rmdir()


def _hand_on(parent: pathlib.Path) -> None:
    """Lets groups of version 2 have the controller."""
    file = parent / 'cgroup.subtree_control'
    if file.exists():
        file.write_text('+cpu')


def joining(group: pathlib.Path, cpu: int | None = None
            ) -> Callable[[], None]:
    """Returns the function that a child calls before it runs a program."""
    def join() -> None:
        (group / 'cgroup.procs').write_text('0')
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
    return join


@contextlib.contextmanager
def running(group: pathlib.Path, *command: str, cpu: int | None = None
            ) -> Iterator[subprocess.Popen[str]]:
    """Runs a command in a group, with a pipe; SIGTERM ends the command.

    :param cpu: the only CPU on which the command may run
    """
    child = subprocess.Popen(  # noqa: PLW1509
        command, text=True, stdout=subprocess.PIPE,
        preexec_fn=joining(group, cpu))
    try:
        yield child
    finally:
        child.terminate()
        child.communicate(timeout=_SECONDS)


def port_of(child: subprocess.Popen[str]) -> int:
    """Returns the port of a command, which the command prints first."""
    if child.stdout is None:
        raise ValueError('it has no pipe')
    return int(child.stdout.readline())


def server(name: str, group: pathlib.Path,
           reservation: servers.Granted | None = None, vcpus: int = 1
           ) -> servers.Watched:
    """Returns a group as a server of one vCPU."""
    return servers.Watched(
        name, {servers.WHOLE: os.stat(group).st_ino}, vcpus, name,
        reservation=reservation)


@contextlib.contextmanager
def monitor(*watched: servers.Watched) -> Iterator[monitor_snapshot.Monitor]:
    """Yields a monitor of some servers."""
    with contextlib.closing(monitor_snapshot.Monitor()) as found:
        for source in found.sources:
            if source.reason and source.name in NEEDED:
                raise SystemExit(f'{source.name}: {source.reason}')
        found.watch(watched)
        yield found


def compiled(source: pathlib.Path, folder: str) -> str:
    """Compiles a C source into a folder; returns the program."""
    program = f'{folder}/{source.stem}'
    subprocess.run(['cc', '-O2', '-o', program, source, '-lm'], check=True)
    return program
