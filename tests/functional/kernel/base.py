# SPDX-License-Identifier: Apache-2.0

"""Scratch groups and child processes on the kernel of this machine.

Each test has groups of its own, holds at most TOP_US of the shared room
while it runs, and leaves the kernel as it found it.
"""

from collections.abc import Callable
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from cloud import settings

from nova_rt.machine.kernel import detect
import nova_rt.machine.kernel.fs
from nova_rt.machine.kernel import rt_group_sched
from nova_rt.machine.kernel import rt_max
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import sysctl
from nova_rt.machine.kernel import tree
from nova_rt.machine.kernel import two_files
from nova_rt.machine import privsep

#: Runtime of the scratch group: 0.02 of each CPU.
TOP_US = 20_000
#: The period of a new group.
_PERIOD_US = 1_000_000
#: What the root group hands out where the kernel starts with nothing.
_ROOT_PPM = 900_000
#: The kernel counts in this many parts of a CPU.
BW_UNIT = 1 << 20
_SECONDS = settings.patience(10)
#: Names the groups of all run queues.
DEBUG = pathlib.Path('/sys/kernel/debug/sched/debug')

SLEEPER = 'import signal; print(flush=True); signal.pause()'
_numbers = itertools.count()


def why_not() -> str:
    """Returns why this machine cannot run these tests; '' if it can."""
    if os.geteuid() != 0:
        return 'needs root'
    hierarchy = survey.hierarchy_of(nova_rt.machine.kernel.fs.RealFS())
    if hierarchy is None or not any(
            os.path.exists(os.path.join(hierarchy.mount, name))
            for name in (two_files.RUNTIME, rt_max.MAX)):
        return 'the kernel has no interface with groups'
    return ''


def mount(controller: str) -> pathlib.Path:
    """Returns the root group of a controller's hierarchy."""
    mounts = list(nova_rt.machine.kernel.fs.RealFS().mounts())
    for point, kind, options in mounts:
        if kind == 'cgroup' and controller in options.split(','):
            return pathlib.Path(point)
    for point, kind, _ in mounts:
        if kind == 'cgroup2':
            return pathlib.Path(point)
    raise LookupError(controller)


def budget(group: pathlib.Path) -> tuple[int, int]:
    """Returns (runtime, period) in us of a group's files; (0, 0) for max."""
    if (group / rt_max.MAX).exists():
        runtime, period = (group / rt_max.MAX).read_text().split()
        return (0, 0) if runtime == 'max' else (int(runtime), int(period))
    return (int((group / two_files.RUNTIME).read_text()),
            int((group / two_files.PERIOD).read_text()))


def give(group: pathlib.Path, runtime_us: int,
         period_us: int = _PERIOD_US) -> None:
    """Writes the budget of a group.

    Without *period_us*, the group must have the period of a new group.

    :raises OSError: when other groups leave no room
    """
    if (group / rt_max.MAX).exists():
        (group / rt_max.MAX).write_text(f'{runtime_us} {period_us}')
        return
    if period_us != _PERIOD_US:
        (group / two_files.PERIOD).write_text(str(period_us))
    (group / two_files.RUNTIME).write_text(str(runtime_us))


def eventually(action: Callable[[], object]) -> None:
    """Calls *action* until it raises no OSError; the last error is raised."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            action()
            return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.005)


def scratch(test: unittest.TestCase) -> str:
    """Makes a top group that *test* may write to, in this process."""
    name = f'nova-rt-test-{os.getpid()}-{next(_numbers)}'
    for patch in (
            mock.patch.object(privsep.cgroup_pctxt, 'client_mode',
                              False),
            mock.patch.object(privsep, 'TOPS', {name})):
        patch.start()
        test.addCleanup(patch.stop)
    return name


class RealKernelTest(unittest.TestCase):
    """A scratch group ``nova-rt-test-PID`` in the cpu hierarchy.

    :cvar interfaces: those that it is about, by name; all if none is named
    """

    interfaces: tuple[str, ...] = ()

    def setUp(self) -> None:
        reason = self.why_not()
        if reason:
            self.skipTest(reason)
        self.name = scratch(self)
        # The scratch group is not a top group of servers: these hold all
        # bandwidth.
        modest = mock.patch.object(rt_group_sched.RtGroupSched, 'keeps_room',
                                   return_value=False)
        modest.start()
        self.addCleanup(modest.stop)
        self.fs = nova_rt.machine.kernel.fs.RealFS()
        self.cpu = mount('cpu')
        self.interface = self._detect()
        # As nova-compute does: some kernels begin without any share.
        self.interface.prepare(_ROOT_PPM)
        self.before = self._foreign()
        self.children: list[subprocess.Popen[bytes]] = []
        self.tops: list[pathlib.Path] = []
        self.addCleanup(self._end)
        self.top = self.scratch('cpu')

    def why_not(self) -> str:
        """Returns why this machine cannot run the test; '' if it can."""
        return why_not()

    def _detect(self) -> tree.TreeInterface:
        found = detect.detect(self.fs)
        if not isinstance(found, tree.TreeInterface):
            self.skipTest('the kernel has no interface with groups')
        if self.interfaces and found.name not in self.interfaces:
            self.skipTest(f'about {", ".join(self.interfaces)}, and the '
                          f'kernel has {found.name}')
        return found

    def scratch(self, controller: str) -> pathlib.Path:
        top = mount(controller) / self.name
        if top in self.tops:  # version 2 has one group for all controllers
            self.hand_on(top.parent, controller)
            return top
        self.make(top, controller)
        self.tops.append(top)
        return top

    def make(self, group: pathlib.Path, controller: str = 'cpu'
             ) -> pathlib.Path:
        """Makes a new group with the files of a controller.

        The group has a cpuset, too, if a budget is on the CPUs of a cpuset.
        """
        self.hand_on(group.parent, controller)
        if self.interface.binds_cpus:
            self.hand_on(group.parent, 'cpuset')
        group.mkdir()
        return group

    def claimed(self) -> tuple[int, ...]:
        """Returns the CPUs of a reservation of a group that is not pinned."""
        if self.interface.binds_cpus:
            return tuple(sorted(os.sched_getaffinity(0)))
        return (0,)

    @staticmethod
    def hand_on(parent: pathlib.Path, controller: str) -> None:
        """Lets a group of version 2 pass a controller on to its children."""
        handed_on = parent / 'cgroup.subtree_control'
        # Version 2 counts CPU time without a controller.
        if controller != 'cpuacct' and handed_on.exists() and (
                controller not in handed_on.read_text().split()):
            handed_on.write_text(f'+{controller}')

    @staticmethod
    def threads(group: pathlib.Path) -> list[int]:
        """Returns the threads in a group that have not ended."""
        name = 'tasks' if (group / 'tasks').exists() else 'cgroup.threads'
        return [int(thread) for thread in (group / name).read_text().split()
                if pathlib.Path(f'/proc/{thread}').exists()]

    def start(self, program: str = SLEEPER) -> subprocess.Popen[bytes]:
        """Starts a child process in a session of its own."""
        child = subprocess.Popen(
            [sys.executable, '-c', program], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True)
        self.children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.close()
        return child

    def end(self, child: subprocess.Popen[bytes]) -> None:
        """Kills a child with its children."""
        if child.poll() is None:
            # With a tiny budget the exit would take long.
            os.sched_setscheduler(child.pid, os.SCHED_OTHER,
                                  os.sched_param(0))
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.stdin is not None:
            child.stdin.close()

    def take_room(self) -> None:
        """Gives the scratch group TOP_US, if other groups leave as much."""
        root = max(self.interface.group_state('/').ppm) * BW_UNIT // 1_000_000
        used = sum(map(self._ratio, self._groups(self.cpu)))
        if root - used < TOP_US * BW_UNIT // 1_000_000:
            self.fail(f'other groups hold {used} of the {root} units of '
                      f'{self.cpu}: there is no room for this test')
        give(self.top, TOP_US)

    @staticmethod
    def _groups(path: pathlib.Path) -> list[pathlib.Path]:
        return [entry for entry in path.iterdir() if entry.is_dir()]

    @staticmethod
    def _ratio(path: pathlib.Path) -> int:
        try:
            runtime, period = budget(path)
        except OSError:
            return 0  # gone meanwhile
        return BW_UNIT if runtime < 0 else runtime * BW_UNIT // max(1, period)

    def _foreign(self) -> tuple[object, ...]:
        """Returns the values that nobody else changes while the tests run."""
        # The root group need not have a file.
        return (self.interface.group_state('/'), *(
            pathlib.Path(sysctl.PATH.format(name)).read_text()
            for name in ('runtime', 'period')))

    def _end(self) -> None:
        for child in self.children:
            self.end(child)
        for top in self.tops:
            # Deepest first.  A task that has yet to end needs its budget,
            # so only the top is zeroed, which waits for the end of all.
            for path, _, _ in os.walk(top, topdown=False):
                if path == str(top) and not self.interface.drains:
                    eventually(lambda top=top: _zero(top))
                eventually(pathlib.Path(path).rmdir)
            self.assertFalse(top.exists())
        eventually(self._is_forgotten)
        self.assertEqual(self.before, self._foreign())

    def _is_forgotten(self) -> None:
        """Checks that the kernel keeps none of our removed groups.

        :raises OSError: it keeps one of ours; there are those who cannot tell
        """
        if (DEBUG.exists() and f':/{self.name}/' in DEBUG.read_text()):
            raise BlockingIOError(f'{self.name} has tasks that never end')


def _zero(group: pathlib.Path) -> None:
    if (group / two_files.RUNTIME).exists():
        give(group, 0)
