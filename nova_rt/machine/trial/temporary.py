# SPDX-License-Identifier: Apache-2.0

"""Makes control groups that are removed in any case when a command ends.

This module gives the groups no budgets.
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

#: A program that waits until the other end of its input is closed, then ends
#: all tasks of the groups and removes the groups and a folder.
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
    """Makes a group with these controllers, unless the group exists.

    :raises OSError: when the kernel refuses
    """
    # A group of cgroup v2 has only the controllers that its parent enables.
    handed_on = group.parent / 'cgroup.subtree_control'
    if handed_on.exists() and not set(controllers) <= set(
            handed_on.read_text().split()):
        handed_on.write_text(
            f'{" ".join(f"+{name}" for name in controllers)}\n')
    group.mkdir(exist_ok=True)


def confine(group: pathlib.Path, cpus: Iterable[int]) -> None:
    """Keeps a group on these pCPUs, even if it has no cpuset yet.

    :raises OSError: when the kernel refuses
    """
    make(group, ('cpu', 'cpuset'))
    (group / 'cpuset.cpus').write_text(
        f'{cpulist.format_ids(sorted({*cpus}))}\n')


def end(group: pathlib.Path) -> None:
    """Kills all tasks of a group, and waits until they have ended.

    The group may get another budget only afterwards: tasks that are about to
    end, and are no longer listed, need the present budget.

    :raises TimeoutError: when a task does not end
    """
    limit = time.monotonic() + _PATIENCE_S
    threads = group / 'tasks'
    if not threads.exists():
        threads = group / 'cgroup.threads'
    while (tasks := threads.read_text().split()) or _is_populated(group):
        if time.monotonic() > limit:
            raise TimeoutError(
                f'{group.name}: the tasks of the group do not end')
        for thread in map(int, tasks):
            with contextlib.suppress(OSError):
                # Without a budget a real-time thread could not die.
                os.sched_setscheduler(thread, os.SCHED_OTHER,
                                      os.sched_param(0))
                os.kill(thread, signal.SIGKILL)
        time.sleep(_POLL_S)


def _is_populated(group: pathlib.Path) -> bool:
    """Checks if a task of the group has yet to end; only v2 shows this."""
    path = group / 'cgroup.events'
    return path.exists() and 'populated 1' in path.read_text().splitlines()


@contextlib.contextmanager
def reaped(groups: Sequence[pathlib.Path], folder: str = ''
           ) -> Iterator[None]:
    """Kills the tasks of groups and removes the groups when the block ends.

    The groups are removed even if this process is killed.  Tasks are made
    ordinary before they are killed, because without a budget a real-time task
    could not end.

    :param folder: a folder to remove after the groups; '' for none
    """
    reaper = subprocess.Popen(
        [sys.executable, '-S', '-c', _REAPER, folder,
         *map(str, groups)],
        stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        reaper.communicate()
