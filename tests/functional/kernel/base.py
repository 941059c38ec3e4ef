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

import nova_rt.kernel.fs
from nova_rt.kernel import rt_group_sched
from nova_rt.kernel import survey
from nova_rt.kernel import tree
from nova_rt.kernel import two_files as f1
import nova_rt.privsep

#: Runtime of the scratch group: 0.002 of each CPU.
TOP_US = 2_000
#: The kernel counts in so many parts of a CPU.
BW_UNIT = 1 << 20
_SECONDS = 10

SLEEPER = 'import signal; print(flush=True); signal.pause()'
_numbers = itertools.count()


def why_not() -> str:
    """Why this machine cannot run these tests, '' where it can."""
    if os.geteuid() != 0:
        return 'needs root'
    hierarchy = survey.hierarchy_of(nova_rt.kernel.fs.RealFS())
    if hierarchy is None or not hierarchy.controller or not os.path.exists(
            os.path.join(hierarchy.mount, f1.RUNTIME)):
        return 'the kernel has no RT_GROUP_SCHED on cgroup v1'
    return ''


def mount(controller: str) -> pathlib.Path:
    for point, kind, options in nova_rt.kernel.fs.RealFS().mounts():
        if kind == 'cgroup' and controller in options.split(','):
            return pathlib.Path(point)
    raise LookupError(controller)


def eventually(action: Callable[[], object]) -> None:
    """Call until it raises no OSError; the last one counts."""
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
    """The name of a top group that *test* may write to, in this process."""
    name = f'nova-rt-test-{os.getpid()}-{next(_numbers)}'
    for patch in (
            mock.patch.object(nova_rt.privsep.cgroup_pctxt, 'client_mode',
                              False),
            mock.patch.object(nova_rt.privsep, 'TOPS', {name})):
        patch.start()
        test.addCleanup(patch.stop)
    return name


class RealKernelTest(unittest.TestCase):
    """A scratch group ``nova-rt-test-PID`` in the cpu hierarchy."""

    def setUp(self) -> None:
        reason = why_not()
        if reason:
            self.skipTest(reason)
        self.name = scratch(self)
        # The scratch group is no top group of servers: these get all.
        modest = mock.patch.object(rt_group_sched.RtGroupSched, 'keeps_room',
                                   return_value=False)
        modest.start()
        self.addCleanup(modest.stop)
        self.fs = nova_rt.kernel.fs.RealFS()
        self.cpu = mount('cpu')
        self.before = self._foreign()
        self.children: list[subprocess.Popen[bytes]] = []
        self.tops: list[pathlib.Path] = []
        self.addCleanup(self._end)
        self.top = self.scratch('cpu')

    def scratch(self, controller: str) -> pathlib.Path:
        top = mount(controller) / self.name
        top.mkdir()
        self.tops.append(top)
        return top

    def start(self, program: str = SLEEPER) -> subprocess.Popen[bytes]:
        """A child process that runs, in a session of its own."""
        child = subprocess.Popen(
            [sys.executable, '-c', program], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True)
        self.children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.close()
        return child

    def end(self, child: subprocess.Popen[bytes]) -> None:
        """Kill a child with its children."""
        if child.poll() is None:
            # With a tiny budget it would take long to exit.
            os.sched_setscheduler(child.pid, os.SCHED_OTHER,
                                  os.sched_param(0))
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.stdin is not None:
            child.stdin.close()

    def take_room(self) -> None:
        """Give the scratch group TOP_US, if the others leave as much."""
        root = self._ratio(self.cpu)
        used = sum(map(self._ratio, self._groups(self.cpu)))
        if root - used < TOP_US * BW_UNIT // 1_000_000:
            self.fail(f'other groups hold {used} of the {root} units of '
                      f'{self.cpu}: there is no room for this test')
        (self.top / f1.RUNTIME).write_text(str(TOP_US))

    @staticmethod
    def _groups(path: pathlib.Path) -> list[pathlib.Path]:
        return [entry for entry in path.iterdir() if entry.is_dir()]

    @staticmethod
    def _ratio(path: pathlib.Path) -> int:
        try:
            runtime = int((path / f1.RUNTIME).read_text())
            period = int((path / f1.PERIOD).read_text())
        except OSError:
            return 0  # gone meanwhile
        return BW_UNIT if runtime < 0 else runtime * BW_UNIT // period

    def _foreign(self) -> tuple[str, ...]:
        """What nobody else changes while we run."""
        return tuple(path.read_text() for path in (
            self.cpu / f1.RUNTIME, self.cpu / f1.PERIOD,
            pathlib.Path(tree.SYSCTL.format('runtime')),
            pathlib.Path(tree.SYSCTL.format('period'))))

    def _end(self) -> None:
        for child in self.children:
            self.end(child)
        for top in self.tops:
            # Deepest first; a budget is zeroed first to be returned at once.
            for path, _, _ in os.walk(top, topdown=False):
                eventually(lambda path=path: _zero(pathlib.Path(path)))
                eventually(pathlib.Path(path).rmdir)
            self.assertFalse(top.exists())
        self.assertEqual(self.before, self._foreign())


def _zero(group: pathlib.Path) -> None:
    if (group / f1.RUNTIME).exists():
        (group / f1.RUNTIME).write_text('0')
