# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel without budgets for groups: SCHED_DEADLINE only.

Its rules for threads are those of ``kernel/sched/deadline.c`` as they were
measured on stock kernels: EPERM for a thread that may not run on the whole
root domain, EBUSY for one sum over all CPUs, a cpuset that may shrink
afterwards, bandwidth that is forgotten when a thread leaves SCHED_DEADLINE
while it sleeps, and a busy thread that never runs again when it comes back
before it is forgiven what it overran.
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
    """On cgroup v2, with a fair server.

    :ivar shrinks: a cpuset may shrink around SCHED_DEADLINE
    :ivar lost: what the kernel counts for nobody
    :ivar busy_threads: those that never sleep, and are throttled at each
        change
    :ivar stuck: those that never run again
    """

    fragile = False
    per_cpu = True
    shrinks = True

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None
                 ) -> None:
        super().__init__(cpus, clock, version=2, servers_ppm=_SERVER_PPM)
        self.reserved: dict[int, tuple[int, int]] = {}
        self.lost = 0
        self.busy_threads: set[int] = set()
        self.stuck: set[int] = set()
        self._unforgiven: set[int] = set()
        self._ran_ns: collections.Counter[int] = collections.Counter()
        everywhere = f'0-{cpus - 1}'
        self._texts = {
            cpulist.ONLINE: everywhere, cpulist.ISOLATED: '',
            deadline.PERIOD_SYSCTL.format('min'): '100',
            deadline.PERIOD_SYSCTL.format('max'): '4194304'}

    def show(self, path: str) -> str:
        if path in self._texts:
            return self._texts[path] + '\n'
        return super().show(path)

    # No budgets.

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
        """Any group takes any task."""

    def admit_policy(self, task: Task, group: Group) -> None:
        """Any task may be real-time."""

    def admit_sysctl(self, runtime: int, period: int) -> None:
        if groups.ratio(runtime, period) * self.cpus < self.deadline_used():
            raise numbers.refusal(errno.EBUSY, 'sched_rt_runtime_us')

    def admit_new(self, task: Task, fresh: Budget, path: str) -> None:
        """Nothing to take."""

    # Threads.

    def allowed(self, thread: int) -> frozenset[int]:
        """Where it may run: its cpuset, and what it was told."""
        with self.guard:
            task = self._task(thread)
            found = cpusets.effective(self._trees[''][task.groups['']])
            return found & (task.affinity or found) or found

    def set_affinity(self, thread: int, cpus: frozenset[int]) -> None:
        """sched_setaffinity(2)."""
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
            if thread not in self.reserved and thread in self._unforgiven:
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
                # As the vCPU of a paused guest does, it sleeps.
                self.lost += held
            elif pair is not None:
                # Its 0-lag time is hours away where it has next to nothing.
                self._unforgiven.discard(thread)
                if not deadline.units(*pair):
                    self._unforgiven.add(thread)

    def ran_ns(self, thread: int) -> int:
        """Its CPU time, a little more each time it is asked for."""
        self._task(thread)
        if thread in self.busy_threads - self.stuck:
            self._ran_ns[thread] += 1000
        return self._ran_ns[thread]

    def exit(self, thread: int) -> None:
        self.reserved.pop(thread, None)
        for each in (self.busy_threads, self.stuck, self._unforgiven):
            each.discard(thread)
        super().exit(thread)

    def deadline_used(self) -> int:
        return super().deadline_used() + self.lost

    def policy(self, thread: int) -> sched.Policy:
        """sched_getattr(2)."""
        task = self._task(thread)
        if thread not in self.reserved:
            return sched.Policy(task.policy, task.priority)
        runtime, period = (each * 1000 for each in self.reserved[thread])
        return sched.Policy(sched.SCHED_DEADLINE, 0, runtime, period, period)

    def granted(self) -> dict[str, dict[int, tuple[int, int]]]:
        """By the groups of the threads, on all CPUs they may run on."""
        with self.guard:
            return {self.tasks[thread].groups['']: dict.fromkeys(
                self.allowed(thread), pair)
                for thread, pair in self.reserved.items()}

    def over_cap(self, cap_ppm: int) -> list[str]:
        """The CPUs to which more than *cap_ppm* is pinned, or the sum.

        A thread on its way to its CPU, or from there, is no CPU's: its guest
        stands still, and the kernel counts it for all of them together.
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
        found = [f'CPU {cpu}: {float(share):.6f} > {cap_ppm} ppm'
                 for cpu, share in sorted(pinned.items()) if share > cap]
        if total > cap * self.cpus:
            found.append(f'all CPUs: {float(total):.6f} > {cap_ppm} ppm each')
        return found
