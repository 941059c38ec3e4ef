# SPDX-License-Identifier: Apache-2.0

"""A group of this kernel that is watched as a server would be."""

import os
import pathlib
import subprocess
import sys
import time

from benchmarks import stand_ins
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from tests.functional.kernel import base

UUID = 'watched'
_SECONDS = 20

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


class WatchedTest(base.RealKernelTest):
    """The scratch group, below ``cpu`` and ``cpuacct``, is a server."""

    def setUp(self) -> None:
        super().setUp()
        self.monitor = snapshot.Monitor()
        self.addCleanup(self.monitor.close)
        for source in self.monitor.sources:
            if source.name in stand_ins.NEEDED:
                self.assertEqual('', source.reason, source)
        self.accounts = self.scratch('cpuacct')
        self.servers = [servers.Watched(
            UUID, {servers.WHOLE: os.stat(self.top).st_ino})]
        self.monitor.watch(self.servers)
        self.begun = self.monitor.read()

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
