# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel without budgets for groups: SCHED_DEADLINE only.

Its rules for threads are those of ``kernel/sched/deadline.c`` as they were
measured on stock kernels.  A thread that may not run on the whole root domain
gets EPERM.  One sum over all CPUs gives EBUSY.  A cpuset may shrink later.
The kernel never frees the bandwidth of a thread that leaves SCHED_DEADLINE
while it sleeps.  A busy thread never runs again if it becomes SCHED_DEADLINE
again before its overrun is paid back.
"""

import collections
import errno
import fractions

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline
from nova_rt.rules import cpulist
from tests.emulation import clock as virtual
from tests.emulation import cpusets
from tests.emulation import groups
from tests.emulation import kernel
from tests.emulation import numbers

Budget = groups.Budget
Group = groups.Group
Task = groups.Task

_SERVER_PPM = 50_000


class Kernel(kernel.Kernel):
    """A stock kernel on cgroup v2, with a fair server.

    :ivar shrinks: whether a cpuset may shrink around SCHED_DEADLINE
    :ivar lost: bandwidth that the kernel counts although no thread holds it
    :ivar wrong: by how much the sum of the kernel is too large, until the
        kernel counts again
    :ivar busy_threads: threads that never sleep, and are throttled at each
        change
    :ivar stuck: threads that never run again
    :ivar hopeless: threads whose 0-lag time is hours away: they are stuck
        whenever they are SCHED_DEADLINE, and the bandwidth that they had when
        they left stays counted
    """

    fragile = False
    per_cpu = True
    shrinks = True

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None
                 ) -> None:
        super().__init__(cpus, clock, version=2, servers_ppm=_SERVER_PPM)
        self.reserved: dict[int, tuple[int, int]] = {}
        self.lost = self.wrong = 0
        self.busy_threads: set[int] = set()
        self.stuck: set[int] = set()
        self.hopeless: set[int] = set()
        self._owed: dict[int, int] = {}
        self._unforgiven: set[int] = set()
        self._ran_ns: collections.Counter[int] = collections.Counter()
        everywhere = f'0-{cpus - 1}'
        self._texts = {
            cpulist.ONLINE: everywhere, cpulist.ISOLATED: '',
            deadline.PERIOD_SYSCTL.format('min'): '100',
            deadline.PERIOD_SYSCTL.format('max'): '4194304'}

    def show(self, path: str) -> str:
        if path == deadline.SYSCTL.format('runtime'):
            self.wrong = 0
        if path in self._texts:
            return self._texts[path] + '\n'
        return super().show(path)

    # This kernel has no budgets.

    def root_budget(self) -> Budget:
        return Budget.even(self.columns, 0, 0)

    def new_budget(self) -> Budget:
        return self.root_budget()

    def rt_files(self, group: Group) -> tuple[str, ...]:
        return ()

    def show_rt(self, group: Group, name: str) -> str:
        raise numbers.refusal(errno.ENOENT, name)

    def write_rt(self, group: Group, name: str, data: str, path: str
                 ) -> int | None:
        raise numbers.refusal(errno.ENOENT, path)

    def admit_attach(self, task: Task, group: Group, path: str) -> None:
        """Admits any task to any group."""

    def admit_policy(self, task: Task, group: Group) -> None:
        """Admits any task as real-time."""

    def admit_sysctl(self, runtime: int, period: int) -> None:
        if groups.ratio(runtime, period) * self.cpus < self.deadline_used():
            raise numbers.refusal(errno.EBUSY, 'sched_rt_runtime_us')

    def admit_new(self, task: Task, fresh: Budget, path: str) -> None:
        """Admits any group, which takes no budget."""

    # Threads.

    def allowed(self, thread: int) -> frozenset[int]:
        """Returns the CPUs of a thread: its cpuset and its affinity."""
        with self.guard:
            task = self._task(thread)
            cpus = cpusets.effective(self._trees[''][task.groups['']])
            return cpus & (task.affinity or cpus) or cpus

    def set_affinity(self, thread: int, cpus: frozenset[int]) -> None:
        """Does what sched_setaffinity(2) does."""
        with self.guard:
            task = self._task(thread)
            if task.deadline and not cpus.issuperset(range(self.cpus)):
                raise numbers.refusal(errno.EBUSY, str(thread))
            task.affinity = cpus

    def set_deadline(self, thread: int, runtime: int, period: int) -> None:
        if self.intercept is not None:
            self.intercept(f'sched_setattr {thread}', f'{runtime} {period}')
        with self.guard:
            if len(self.allowed(thread)) < self.cpus:
                raise numbers.refusal(errno.EPERM, str(thread))
            if not 100 <= period <= 4_194_304 or not 2 <= runtime <= period:
                raise numbers.refusal(errno.EINVAL, str(thread))
            super().set_deadline(thread, runtime, period)
            self._owed.pop(thread, None)
            if thread in self.hopeless or (
                    thread not in self.reserved
                    and thread in self._unforgiven):
                self.stuck.add(thread)
            self.reserved[thread] = (runtime, period)

    def set_policy(self, thread: int, policy: int, priority: int = 0
                   ) -> None:
        with self.guard:
            held = self._task(thread).deadline
            super().set_policy(thread, policy, priority)
            pair = self.reserved.pop(thread, None)
            self.stuck.discard(thread)
            if thread not in self.busy_threads:
                # The thread sleeps, like the vCPU of a paused guest.
                self.lost += held
            elif pair is not None:
                # With a tiny budget its 0-lag time is hours away.
                self._unforgiven.discard(thread)
                if thread in self.hopeless:
                    self._owed[thread] = held
                if not deadline.units(*pair):
                    self._unforgiven.add(thread)

    def ran_ns(self, thread: int) -> int:
        """Returns its CPU time, which is a little more at each call."""
        self._task(thread)
        if thread in self.busy_threads - self.stuck:
            self._ran_ns[thread] += 1000
        return self._ran_ns[thread]

    def exit(self, thread: int) -> None:
        self.reserved.pop(thread, None)
        for each in (self.busy_threads, self.stuck, self._unforgiven,
                     self.hopeless):
            each.discard(thread)
        super().exit(thread)

    def deadline_used(self) -> int:
        return (super().deadline_used() + self.lost + self.wrong
                + sum(self._owed.values()))

    def policy(self, thread: int) -> sched.Policy:
        """Does what sched_getattr(2) does."""
        task = self._task(thread)
        if thread not in self.reserved:
            return sched.Policy(task.policy, task.priority)
        runtime, period = (each * 1000 for each in self.reserved[thread])
        return sched.Policy(sched.SCHED_DEADLINE, 0, runtime, period, period)

    def granted(self) -> dict[str, dict[int, tuple[int, int]]]:
        """Returns budgets by group of threads, on all CPUs of the threads."""
        with self.guard:
            return {self.tasks[thread].groups['']: dict.fromkeys(
                self.allowed(thread), pair)
                for thread, pair in self.reserved.items()}

    def over_cap(self, cap_ppm: int) -> list[str]:
        """Returns the CPUs to which more than *cap_ppm* is pinned, or the sum.

        A thread on its way to or from its CPU counts for no CPU: its guest is
        paused, and the kernel counts the thread for all CPUs together.
        """
        cap = fractions.Fraction(cap_ppm, kernel.PPM)
        pinned: dict[int, fractions.Fraction] = collections.defaultdict(
            fractions.Fraction)
        total = fractions.Fraction()
        with self.guard:
            for thread, pair in self.reserved.items():
                total += fractions.Fraction(*pair)
                allowed = self.allowed(thread)
                if len(allowed) < self.cpus:
                    for cpu in allowed:
                        pinned[cpu] += fractions.Fraction(*pair)
        over = [f'CPU {cpu}: {float(share):.6f} > {cap_ppm} ppm'
                for cpu, share in sorted(pinned.items()) if share > cap]
        if total > cap * self.cpus:
            over.append(f'all CPUs: {float(total):.6f} > {cap_ppm} ppm each')
        return over
