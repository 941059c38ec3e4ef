# SPDX-License-Identifier: Apache-2.0

"""Containers of busy shells as libvirt lays them out, without libvirt."""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import signal
import subprocess
import time

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine.trial import busy

_PARTITION = 'machine'
#: The work of a task of a container: the task is busy, or its children end all
#: the time, so that the kernel may not list them.
BUSY = '(while :; do :; done) &'
ENDING = '(while :; do (:); done) &'
#: A keeper, the init that the keeper starts, and the tasks of the init.
_PROGRAM = "sh -c '{} wait' & wait"
_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.005
_SECOND_NS = 1_000_000_000


@dataclasses.dataclass(eq=False)
class Guest:
    """A container that runs.

    :ivar paths: the paths of its group in each hierarchy, the one of cpu first
    """

    name: str
    paths: tuple[pathlib.Path, ...]
    keeper: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.keeper.pid

    def threads(self) -> list[int]:
        """Returns all tasks but the keeper; none once the group is gone."""
        try:
            text = (self.paths[0] / 'cgroup.procs').read_text()
        except OSError:
            return []
        return [pid for pid in map(int, text.split()) if pid != self.pid]

    def cpu_seconds(self) -> float:
        """Returns the CPU time that its tasks have used since their start."""
        used = 0
        for pid in self.threads():
            with contextlib.suppress(OSError):
                used += busy.used_ns(pid)
        return used / _SECOND_NS

    def kill(self) -> None:
        """Ends all tasks; the groups stay, with their budget."""
        for pid in (self.pid, *self.threads()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.keeper.wait()

    def remove(self) -> None:
        """Removes the groups as soon as the last task is gone.

        :raises TimeoutError: it does not end
        """
        for path in self.paths:
            end = time.monotonic() + _PATIENCE_SECONDS
            while path.exists():
                with contextlib.suppress(OSError):
                    path.rmdir()
                    break
                if time.monotonic() > end:
                    raise TimeoutError(f'{path} keeps {self._states()}')
                time.sleep(_POLL_SECONDS)

    def _states(self) -> list[str]:
        """Returns the reason why the tasks do not end, for a person."""
        found = []
        for pid in self.threads():
            with contextlib.suppress(OSError):
                stat = pathlib.Path(f'/proc/{pid}/stat').read_text().split()
                found.append(f'{pid} in state {stat[2]}, policy '
                             f'{os.sched_getscheduler(pid)}')
        return found


class Guests:
    """Starts containers on the kernel of this machine."""

    def __init__(self) -> None:
        files = fs.RealFS()
        hierarchy = survey.hierarchy_of(files)
        if hierarchy is None:
            raise LookupError('no hierarchy has the cpu controller')
        self.mounts = _mounts(files, hierarchy)
        self.v2 = not hierarchy.controller
        self._numbers = itertools.count(1)
        self.tops = tuple(mount / _PARTITION for mount in self.mounts)
        for mount in self.mounts:
            self._make(mount, _PARTITION)

    def start(self, tasks: int, program: str = BUSY) -> Guest:
        """Starts a container with this many *tasks*, all ordinary at first."""
        name = f'lxc-{next(self._numbers)}-soak.libvirt-lxc'
        paths = tuple(self._make(top, name) for top in self.tops)

        def enter() -> None:
            for path in paths:
                (path / 'cgroup.procs').write_text(str(os.getpid()))
            os.setpriority(os.PRIO_PROCESS, 0, 0)

        keeper = subprocess.Popen(
            ['/bin/sh', '-c', _PROGRAM.format(program * tasks)],
            preexec_fn=enter, start_new_session=True)
        guest = Guest(name, paths, keeper)
        end = time.monotonic() + _PATIENCE_SECONDS
        while len(guest.threads()) < tasks + 1:
            if time.monotonic() > end:
                raise TimeoutError(f'{name} does not start')
            time.sleep(_POLL_SECONDS)
        return guest

    def close(self) -> None:
        """Removes the top groups."""
        for top in self.tops:
            top.rmdir()

    def _make(self, above: pathlib.Path, name: str) -> pathlib.Path:
        if self.v2:
            (above / 'cgroup.subtree_control').write_text('+cpu +cpuset')
        path = above / name
        path.mkdir(exist_ok=True)
        if not self.v2:
            for file in ('cpuset.cpus', 'cpuset.mems'):
                if (above / file).exists():
                    (path / file).write_text((above / file).read_text())
        return path


def dying(group: pathlib.Path) -> int:
    """Returns how many removed groups below it the kernel still counts.

    :returns: 0 also where the kernel does not tell (cgroup v1)
    """
    path = group / 'cgroup.stat'
    if not path.exists():
        return 0
    found = dict(line.split() for line in path.read_text().splitlines())
    return int(found.get('nr_dying_subsys_cpu', 0))


def _mounts(files: fs.RealFS, hierarchy: cgroup.Hierarchy
            ) -> tuple[pathlib.Path, ...]:
    found = [hierarchy.mount]
    if hierarchy.controller:
        found += [point for point, kind, options in files.mounts()
                  if kind == 'cgroup' and 'cpuset' in options.split(',')
                  and point not in found]
    return tuple(map(pathlib.Path, found))
