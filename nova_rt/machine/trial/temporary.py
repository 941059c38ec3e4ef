# SPDX-License-Identifier: Apache-2.0

"""Control groups of one command: made, and gone when it is, however it ends.

Budgets are not given here.
"""

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

from nova_rt.rules import cpulist

_PATIENCE_S, _POLL_S = 5.0, 0.005

#: Waits until nobody holds the other end of its input, then ends all tasks
#: of the groups and removes these, and a folder.
_REAPER = '''\
import os, pathlib, shutil, signal, sys, time
sys.stdin.read()
for path in map(pathlib.Path, sys.argv[2:]):
    for _ in range(500):
        if not path.exists(): break
        try:
            threads = path / 'tasks'
            if not threads.exists(): threads = path / 'cgroup.threads'
            for thread in map(int, threads.read_text().split()):
                try:
                    os.sched_setscheduler(thread, 0, os.sched_param(0))
                    os.kill(thread, signal.SIGKILL)
                except OSError: pass
            path.rmdir()
        except OSError: time.sleep(0.01)
if sys.argv[1]: shutil.rmtree(sys.argv[1], ignore_errors=True)
'''


def make(group: pathlib.Path, controllers: Sequence[str] = ('cpu',)) -> None:
    """Make a group that has these controllers, unless it is there.

    :raises OSError: the kernel refuses
    """
    # A group of cgroup v2 has the files that its parent hands on.
    handed_on = group.parent / 'cgroup.subtree_control'
    if handed_on.exists() and not set(controllers) <= set(
            handed_on.read_text().split()):
        handed_on.write_text(
            f'{" ".join(f"+{name}" for name in controllers)}\n')
    group.mkdir(exist_ok=True)


def confine(group: pathlib.Path, cpus: Iterable[int]) -> None:
    """Keep a group on these pCPUs, also one that has no cpuset yet.

    :raises OSError: the kernel refuses
    """
    make(group, ('cpu', 'cpuset'))
    (group / 'cpuset.cpus').write_text(
        f'{cpulist.format_ids(sorted({*cpus}))}\n')


def end(group: pathlib.Path) -> None:
    """Kill all tasks of a group, which then takes another budget.

    Those that have yet to end, and are listed no more, need the one it has.

    :raises TimeoutError: one of them does not die
    """
    limit = time.monotonic() + _PATIENCE_S
    threads = group / 'tasks'
    if not threads.exists():
        threads = group / 'cgroup.threads'
    while (tasks := threads.read_text().split()) or _is_populated(group):
        if time.monotonic() > limit:
            raise TimeoutError(f'{group.name}: its tasks do not die')
        for thread in map(int, tasks):
            with contextlib.suppress(OSError):
                # Without a budget a real-time thread could not die.
                os.sched_setscheduler(thread, os.SCHED_OTHER,
                                      os.sched_param(0))
                os.kill(thread, signal.SIGKILL)
        time.sleep(_POLL_S)


def _is_populated(group: pathlib.Path) -> bool:
    """Only cgroup v2 tells."""
    path = group / 'cgroup.events'
    return path.exists() and 'populated 1' in path.read_text().splitlines()


@contextlib.contextmanager
def reaped(groups: Sequence[pathlib.Path], folder: str = ''
           ) -> Iterator[None]:
    """Ends what is in the groups, and removes them, at the end of the block.

    It does so too when this process is killed.  Tasks die as ordinary ones:
    without a budget a real-time task could not.

    :param folder: is removed after them; '': there is none
    """
    reaper = subprocess.Popen(
        [sys.executable, '-S', '-c', _REAPER, folder,
         *map(str, groups)],
        stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        reaper.communicate()
