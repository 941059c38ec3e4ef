# SPDX-License-Identifier: Apache-2.0

"""Before its budget is in place, no code of a container runs in real time.

libvirt starts containers unpaused, so that their code races with nova-compute.
Here the code gets all the time that it wants.
"""

import subprocess

from nova_rt.machine.kernel import base as kernel_base
from tests.functional.kernel import base

#: Runs as root.  For each byte that it reads, it prints a line: the errno of
#: SCHED_FIFO, or 0.
EAGER = '''
import os, sys
while sys.stdin.read(1):
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        found = 0
    except OSError as error:
        found = error.errno
    child = os.fork()
    if not child:
        os._exit(os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK)
    policy = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(found, policy, flush=True)
'''
EPERM, FIFO = 1, 1


class StartWindowTest(base.RealKernelTest):
    """Makes a new group below a group that has a budget, as with libvirt."""

    def setUp(self) -> None:
        super().setUp()
        self.take_room()  # There is a budget that the task could take.
        if self.interface.inherits:
            self.skipTest('a task there may be real-time within the budget '
                          'of the groups above')
        self.guest = self.make(self.top / 'guest')

    def eager(self) -> 'subprocess.Popen[str]':
        child = subprocess.Popen(
            ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"',
             str(self.guest), base.sys.executable, '-c', EAGER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        self.children.append(child)  # type: ignore[arg-type]
        return child

    @staticmethod
    def ask(child: 'subprocess.Popen[str]') -> list[int]:
        """Returns (errno, policy of a new child) of one attempt."""
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write('!')
        child.stdin.flush()
        return [int(word) for word in child.stdout.readline().split()]

    def test_root_in_a_new_group(self) -> None:
        child = self.eager()
        self.addCleanup(child.stdout.close)  # type: ignore[union-attr]
        for _ in range(20):
            self.assertEqual([EPERM, 0], self.ask(child))
        self.reserve()
        self.assertEqual([0, FIFO], self.ask(child))

    def reserve(self) -> None:
        # Interfaces that cap charge at ticks.  A deadline server is exact, and
        # the start of a child takes many short periods.
        runtime = 20_000 if self.interface.deadline_servers else 100
        self.interface.reserve({f'/{self.name}/guest': kernel_base.Budget(
            {0: runtime}, 100_000)})
