# SPDX-License-Identifier: Apache-2.0

"""A group of this kernel that is watched as a server would be.

The tests also run on a kernel that has no budgets for groups.
"""

import os
import pathlib
import subprocess
import sys
import time
import unittest
from unittest import mock

from cloud import settings

from nova_rt.machine.kernel import rt_max
from nova_rt.machine.kernel import tree
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from tests.functional.kernel import base

UUID = 'watched'
_SECONDS = settings.patience(20)
#: libbpf needs the types of the running kernel to load the programs.
TYPES = pathlib.Path('/sys/kernel/btf/vmlinux')
_KERNEL = pathlib.Path('/proc/kallsyms')
#: A symbol that a kernel has if it can run the programs of a source.
_SYMBOLS = {'tcp': '__traceiter_sock_send_length', 'tap': 'tcx_link_attach'}

#: Skips a test on a machine with one CPU.
needs_two_cpus = unittest.skipIf(
    os.cpu_count() == 1, 'needs two CPUs')

#: Runs the rest of its arguments in the groups of the first argument, which
#: are separated by commas.
JOIN = ('groups=$1; shift; for each in $(echo $groups | tr , " "); do '
        'echo 0 > $each/cgroup.procs; done; exec "$@"')


#: Ends a program whose ``serve(connection)`` answers what comes to its
#: ``listener`` and returns at the end of the connection.  When the program is
#: asked to end, and all clients have closed their connections, the program
#: prints its ``log``.
SERVING = '''
serving = []
def accept():
    while True:
        connection, _ = listener.accept()
        serving.append(threading.Thread(target=serve, args=(connection,),
                                        daemon=True))
        serving[-1].start()
threading.Thread(target=accept, daemon=True).start()
sys.stdin.readline()
for thread in serving:
    thread.join()
print(json.dumps(log), flush=True)
sys.stdin.read()
'''


def why_not(source: str = sched.Scheduler.name) -> str:
    """Returns why the programs of a source cannot run; '' if they can."""
    if os.geteuid() != 0:
        return 'needs root'
    if not TYPES.exists():
        return 'the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)'
    symbol = _SYMBOLS.get(source, '')
    if symbol and f' {symbol}\n' not in _KERNEL.read_text():
        return f'the kernel has no {symbol}'
    return ''


class ProgramsTest(unittest.TestCase):
    """Needs a kernel that can run the programs of a source of the monitor."""

    needs = sched.Scheduler.name

    def setUp(self) -> None:
        super().setUp()
        reason = why_not(self.needs)
        if reason:
            self.skipTest(reason)


class AnyKernelTest(base.RealKernelTest):
    """Needs no budgets for groups, but the programs of a source."""

    needs = sched.Scheduler.name

    def why_not(self) -> str:
        return why_not(self.needs)

    def _detect(self) -> tree.TreeInterface:
        if not base.why_not():
            return super()._detect()
        none: tree.TreeInterface = mock.create_autospec(
            tree.TreeInterface, instance=True, binds_cpus=False, drains=True)
        return none


class WatchedTest(AnyKernelTest):
    """The scratch group, below ``cpu`` and ``cpuacct``, is a server."""

    def setUp(self) -> None:
        super().setUp()
        self.monitor = snapshot.Monitor()
        self.addCleanup(self.monitor.close)
        for source in self.monitor.sources:
            if source.name in (sched.Scheduler.name, self.needs):
                self.assertEqual('', source.reason, source)
        self.accounts = self.scratch('cpuacct')
        self.servers = [servers.Watched(
            UUID, {servers.WHOLE: os.stat(self.top).st_ino})]
        self.monitor.watch(self.servers)
        self.begun = self.monitor.read()

    def give(self, runtime_us: int, period_us: int) -> None:
        """Gives the group a budget for real-time tasks.

        :raises OSError: when other groups leave no room
        """
        if base.why_not():
            self.skipTest('the kernel has no budgets for groups')
        base.give(self.top, runtime_us, period_us)

    @property
    def leaves_bandwidth(self) -> bool:
        """Tells whether groups leave bandwidth for SCHED_DEADLINE threads."""
        return not (self.top / rt_max.MAX).exists()

    def inner(self, name: str) -> pathlib.Path:
        """Makes a group in the group, as libvirt makes one of a vCPU."""
        path = self.top / name
        path.mkdir()
        kind = path / 'cgroup.type'
        if kind.exists():
            # Version 2 allows processes in both groups only with this type.
            kind.write_text('threaded')
            self.hand_on(self.top, 'cpu')
        return path

    def accounted_ns(self) -> int:
        """Returns the CPU time of the group by the kernel's own count."""
        file = self.accounts / 'cpuacct.usage'
        if file.exists():
            return int(file.read_text())
        used = dict(line.split() for line in (
            self.accounts / 'cpu.stat').read_text().splitlines())
        return 1_000 * int(used['usage_usec'])

    def inside(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command in the group, with two pipes."""
        groups = f'{self.accounts},{self.top}'
        child = subprocess.Popen(
            ['sh', '-c', JOIN, 'sh', groups, *command], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True)
        self.addCleanup(self.stop, child)
        return child

    def python(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts a program of Python in the group."""
        return self.inside(sys.executable, '-c', program, *arguments)

    def stop(self, child: subprocess.Popen[str]) -> None:
        child.kill()
        child.communicate()

    def usage(self) -> sched.ServerUsage:
        """Returns the counts since the beginning of the test."""
        return self.monitor.read().since(self.begun).usages[UUID]

    def wait_for(self, condition: object) -> None:
        """Waits until a condition is true; fails if it never is.

        :param condition: a function
        """
        assert callable(condition)
        end = time.monotonic() + _SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, 'it never came to be')
            time.sleep(0.01)


def sleeps(pid: int) -> bool:
    """Returns whether the kernel has a process asleep."""
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    return stat.rpartition(')')[2].split()[0] == 'S'
