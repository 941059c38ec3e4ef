# SPDX-License-Identifier: Apache-2.0

"""Makes single vCPU threads SCHED_DEADLINE, and explains refusals."""

from collections.abc import Collection, Iterator, Mapping
import contextlib
import dataclasses
import errno
import os
import time

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as threads
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import pins as kernel_pins
from nova_rt.machine.kernel import resting
from nova_rt.machine.kernel import shortfall
from nova_rt.machine.kernel import starving
from nova_rt.machine import privsep
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import words

#: The seconds that a starving vCPU stays ordinary at least, in each attempt to
#: revive it before an audit gives up.  The 0-lag time of the vCPU is later
#: than its deadline, by its overrun divided by its share.  The deadline is at
#: most the last period of the vCPU away, but this period is no longer known.
#: So the last attempt waits for longer than any period.
_REVIVALS = (0.0, 5.0)
_LONGEST_SECONDS = 5.0
#: How many periods the kernel may take to find room again: the 0-lag time of
#: a thread comes after the end of its period.
_PERIODS = 2
_GRACE_SECONDS = 0.25
_POLL_SECONDS = 0.02
#: How long a change waits at most for vCPUs that are never throttled.
_PATIENCE_SECONDS = 1.0
#: The reservation that a vCPU has when it becomes ordinary.  The 0-lag time of
#: the vCPU is then as far away as its overrun divided by this share: 0.4 s for
#: a tick of 4 ms.
_LITTLE = reservation.Reservation(10_000, 1_000_000)
#: How many vCPUs a sentence names.
_SHOWN = 3
_SHORT = ('vCPUs that were always ready to run got less CPU time than they '
          'have reserved ({}): something takes time from their pCPUs; see '
          'deadline.share of nova-rt doctor.')
_POLICIES = {os.SCHED_FIFO: 'fifo', os.SCHED_RR: 'rr'}


@dataclasses.dataclass(frozen=True, slots=True)
class VCPU:
    """The thread of one vCPU.

    :ivar group: the group of the thread in the cpu hierarchy
    """

    group: str
    thread: int


class Threads:
    """Gives threads a reservation, each on one pCPU if *pins* is given.

    All methods raise KernelError.

    :param controller: the controller of the cpu hierarchy; '' for cgroup v2
    :param pins: None to leave the affinity of threads alone (global EDF)
    """

    def __init__(self, controller: str, admission: deadline.Admission,
                 pins: kernel_pins.Pins | None) -> None:
        self._controller = controller
        self._admission = admission
        self._pins = pins
        self._watch = starving.Watch()
        self._ledger = shortfall.Ledger()
        #: the groups of the vCPUs that get too little
        self._short: list[str] = []

    def policy(self, vcpu: VCPU) -> sched.Policy:
        """Returns the scheduling policy of a vCPU thread."""
        with self._explained(vcpu):
            return sched.get(vcpu.thread)

    def period_us(self, vcpu: VCPU) -> int:
        """Returns the period of a vCPU; 0 if it has no reservation."""
        policy = self.policy(vcpu)
        return policy.period // 1000 if policy.is_deadline else 0

    def has(self, vcpu: VCPU, wanted: reservation.Reservation, cpu: int,
            soft: bool = False) -> bool:
        """Checks whether a vCPU has a reservation, and runs on its pCPU.

        The pCPU is checked only if there are *pins*.

        :param soft: whether the vCPU may have a longer runtime
        """
        policy = self.policy(vcpu)
        runtime_us = (max(wanted.runtime_us, policy.runtime // 1000) if soft
                      else wanted.runtime_us)
        if not policy.grants(runtime_us, wanted.period_us):
            return False
        with self._explained(vcpu):
            return self._pins is None or self._pins.is_pinned_to(
                vcpu.thread, cpu)

    def grant(self, vcpu: VCPU, wanted: reservation.Reservation, cpu: int,
              undo: contextlib.ExitStack) -> None:
        """Gives a vCPU a reservation; closing *undo* takes it back."""
        if self.has(vcpu, wanted, cpu):
            return
        if not self._change(vcpu, wanted, cpu, undo):
            old = self.policy(vcpu)
            self._free(vcpu, undo)
            self._start(vcpu, wanted)
            undo.callback(self._restore, vcpu, old)
            self._confine(vcpu, (cpu,), undo)
        if not self.has(vcpu, wanted, cpu):
            raise error(
                vcpu.group, f'thread {vcpu.thread} reads back '
                f'{self.policy(vcpu)} on {_cpus_of(vcpu.thread)} '
                f'instead of {wanted} on CPU {cpu}')

    def as_they_rest(self, guest: Mapping[VCPU, int],
                     wanted: reservation.Reservation) -> Iterator[VCPU]:
        """Yields the vCPUs of a guest at moments that are good for a change.

        These are the moments at which a vCPU with a reservation is throttled
        or sleeps.  A vCPU that is never throttled and never sleeps comes last.

        :param guest: the vCPUs, each with the pCPU that it should have
        :param wanted: the reservation that the vCPUs should have
        """
        pending = {}
        for vcpu, cpu in guest.items():
            if self.is_reserved(vcpu) and not self.has(vcpu, wanted, cpu):
                pending[vcpu.thread] = vcpu
            else:
                yield vcpu
        longest = max(map(self.period_us, pending.values()), default=0)
        for thread in resting.first_resting(pending, min(
                _PATIENCE_SECONDS, _PERIODS * longest / 1_000_000)):
            yield pending[thread]

    def keep_others_off(self, process: int, claimed: Collection[int],
                        ordinary: Collection[int],
                        undo: contextlib.ExitStack) -> None:
        """Keeps ordinary threads of a guest off the pCPUs of reservations.

        :param ordinary: the indices of the vCPUs without a reservation
        """
        if self._pins is not None:
            with explained(f'of process {process}'):
                before = self._pins.keep_others_off(process, claimed, ordinary)
            undo.callback(self._pins.put_back, before)

    def are_others_off(self, process: int, claimed: Collection[int],
                       ordinary: Collection[int]) -> bool:
        """Checks whether :meth:`keep_others_off` has nothing left to do."""
        with explained(f'of process {process}'):
            return self._pins is None or self._pins.are_others_off(
                process, claimed, ordinary)

    def is_reserved(self, vcpu: VCPU) -> bool:
        """Checks whether a vCPU is SCHED_DEADLINE, with any values."""
        return self.policy(vcpu).is_deadline

    def is_ordinary(self, vcpu: VCPU) -> bool:
        """Checks whether a vCPU has no real-time policy, or has ended."""
        try:
            return self.policy(vcpu).number == os.SCHED_OTHER
        except exception.KernelError:
            return True

    def make_ordinary(self, vcpu: VCPU, undo: contextlib.ExitStack) -> None:
        """Makes a vCPU ordinary; closing *undo* gives its policy back."""
        old = self.policy(vcpu)
        if old.is_deadline:
            self.stop(vcpu)
            undo.callback(self._restore, vcpu, old)

    # The following methods check whether vCPUs run.

    def note(self, guests: Collection[VCPU]) -> None:
        """Remembers how long vCPUs have run, and forgets all others.

        :meth:`starves` and :meth:`warnings` use these times.
        """
        self._watch.forget()
        self._watch.note(vcpu.thread for vcpu in guests)
        groups = {vcpu.thread: vcpu.group for vcpu in guests}
        self._short = [groups[thread] for thread
                       in self._ledger.note(groups)]

    def warnings(self) -> list[str]:
        """Returns a sentence about the vCPUs that get too little.

        These vCPUs were always ready to run between the last two calls of
        :meth:`note`.
        """
        if not self._short:
            return []
        groups = sorted(self._short)
        return [_SHORT.format(', '.join(groups[:_SHOWN])
                              + ', ...' * (len(groups) > _SHOWN))]

    def starves(self, vcpu: VCPU, wanted: reservation.Reservation) -> bool:
        """Checks if a vCPU is ready but got no CPU time for two periods."""
        return self._watch.starves(vcpu.thread, wanted.period_us)

    def revive(self, guest: Mapping[VCPU, int],
               wanted: reservation.Reservation, undo: contextlib.ExitStack,
               before_us: int = 0) -> list[VCPU]:
        """Makes vCPUs run again if they starve despite their reservation.

        The kernel treats such a thread as throttled but has no timer that
        ends the throttling: the thread left SCHED_DEADLINE while it was
        throttled and came back before its 0-lag time
        (``kernel/sched/deadline.c``, the same from 6.1 to 7.2).  If the
        thread stays ordinary until its 0-lag time, the kernel clears that
        state.  The 0-lag time comes when the share of the thread has paid back
        the overrun.

        :param guest: the vCPUs, each with its pCPU
        :param before_us: the longest period that a vCPU had before
        :returns: the vCPUs that still starve: another program gave them a tiny
            share for a long time, so that their 0-lag time may be hours away
        """
        watch = starving.Watch()
        watch.note(vcpu.thread for vcpu in guest)
        return [vcpu for vcpu, cpu in guest.items()
                if watch.starves(vcpu.thread, max(before_us,
                                                  wanted.period_us))
                and not self._revive(watch, vcpu, wanted, cpu, undo)]

    def _revive(self, watch: starving.Watch, vcpu: VCPU,
                wanted: reservation.Reservation, cpu: int,
                undo: contextlib.ExitStack) -> bool:
        """Makes one starving vCPU run again; returns whether the vCPU runs."""
        for seconds in _REVIVALS:
            if not watch.starves(vcpu.thread, wanted.period_us):
                return True
            if not self._begin_anew(vcpu, wanted, cpu, seconds, undo):
                return False
            watch.forget()  # CPU time as an ordinary thread does not count.
        return not watch.starves(vcpu.thread, wanted.period_us)

    def _begin_anew(self, vcpu: VCPU, wanted: reservation.Reservation,
                    cpu: int, seconds: float, undo: contextlib.ExitStack
                    ) -> bool:
        """Makes a vCPU ordinary and reserves again.

        :param seconds: how long the vCPU stays ordinary at least
        :returns: whether the kernel accepted the reservation again
        """
        with self._explained(vcpu):
            overrun = threads.overrun_ns(vcpu.thread)
        self._free(vcpu, undo)
        self._owe_little(vcpu)
        time.sleep(max(seconds, min(
            _LONGEST_SECONDS, overrun * _LITTLE.period_us
            / _LITTLE.runtime_us / 1_000_000_000)))
        try:
            return self._start_within(
                _PERIODS * wanted.period_us / 1_000_000 + _GRACE_SECONDS,
                vcpu, wanted)
        finally:
            self._confine(vcpu, (cpu,), undo)

    def _owe_little(self, vcpu: VCPU) -> None:
        """Makes a vCPU ordinary; its 0-lag time may be far away.

        Until that time the kernel continues to count the present bandwidth of
        the thread, and a new reservation needs the same bandwidth again.
        """
        if self.policy(vcpu).is_deadline:
            with contextlib.suppress(exception.KernelError):
                self._start(vcpu, _LITTLE)
            self._make_ordinary(vcpu)

    def _start_within(self, seconds: float, vcpu: VCPU,
                      wanted: reservation.Reservation) -> bool:
        end = time.monotonic() + seconds
        while True:
            try:
                self._start(vcpu, wanted)
                return True
            except exception.KernelError as refusal:
                if not is_full(refusal):
                    raise
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_SECONDS)

    def give_up(self, vcpu: VCPU) -> None:
        """Makes a vCPU that still starves ordinary.

        As an ordinary thread it gets enough CPU time to be ended.
        """
        with contextlib.ExitStack() as undo:
            self._free(vcpu, undo)
            self._owe_little(vcpu)

    def stop(self, vcpu: VCPU) -> None:
        """Makes a vCPU thread ordinary; ignores a thread that has ended."""
        with contextlib.ExitStack() as undo:
            with contextlib.suppress(exception.KernelError):
                # Otherwise the thread keeps its bandwidth while it sleeps,
                # see sched_setattr.stop.
                self._free(vcpu, undo)
            self._make_ordinary(vcpu)

    def _make_ordinary(self, vcpu: VCPU) -> None:
        self._ledger.forget(vcpu.thread)
        with (self._explained(vcpu),
              contextlib.suppress(ProcessLookupError)):
            privsep.set_deadline(
                vcpu.group, self._controller, vcpu.thread, 0, 0)

    def _change(self, vcpu: VCPU, wanted: reservation.Reservation, cpu: int,
                undo: contextlib.ExitStack) -> bool:
        """Changes a vCPU that has a reservation and a cpuset, in one call.

        Between separate calls the vCPU could run on other pCPUs for a while.

        :returns: False if the vCPU has no reservation or no cpuset, or if its
            affinity is too small, so that it must be changed in several steps
        """
        old = self.policy(vcpu)
        if self._pins is None or not old.is_deadline:
            return False
        with self._explained(vcpu):
            path, before = self._pins.cpuset_of(vcpu.thread)
            if not before:
                return False
            try:
                self._change_in(path, vcpu, wanted, (cpu,))
            except PermissionError:
                return False
        undo.callback(self._change_back, path, vcpu, reservation.Reservation(
            old.runtime // 1000, old.period // 1000), before)
        return True

    def _change_back(self, path: str, vcpu: VCPU,
                     old: reservation.Reservation, cpus: tuple[int, ...]
                     ) -> None:
        with self._explained(vcpu):
            self._change_in(path, vcpu, old, cpus)

    def _change_in(self, path: str, vcpu: VCPU,
                   wanted: reservation.Reservation, cpus: tuple[int, ...]
                   ) -> None:
        self._ledger.forget(vcpu.thread)
        privsep.change_deadline(
            vcpu.group, self._controller, vcpu.thread, wanted.runtime_us,
            wanted.period_us, path,
            cpulist.format_ids(self._admission.cpus()),
            cpulist.format_ids(cpus))

    def _free(self, vcpu: VCPU, undo: contextlib.ExitStack) -> None:
        """Lets a vCPU run on the whole root domain, as the kernel demands."""
        if self._pins is not None:
            with self._explained(vcpu):
                domain = self._admission.cpus()
                self._confine(vcpu, domain, undo)
                self._pins.free(vcpu.thread, domain)

    def _confine(self, vcpu: VCPU, cpus: tuple[int, ...],
                 undo: contextlib.ExitStack) -> None:
        if self._pins is not None:
            with self._explained(vcpu):
                before = self._pins.confine(vcpu.thread, cpus)
            undo.callback(self._put_back, self._pins, vcpu, before)

    def _put_back(self, pins: kernel_pins.Pins, vcpu: VCPU,
                  before: tuple[int, ...]) -> None:
        with (self._explained(vcpu),
              contextlib.suppress(LookupError, ProcessLookupError)):
            pins.confine(vcpu.thread, before)

    def _start(self, vcpu: VCPU, wanted: reservation.Reservation) -> None:
        self._ledger.forget(vcpu.thread)
        with self._explained(vcpu):
            privsep.set_deadline(
                vcpu.group, self._controller, vcpu.thread, wanted.runtime_us,
                wanted.period_us)

    def _restore(self, vcpu: VCPU, old: sched.Policy) -> None:
        if old.is_deadline:
            self._start(vcpu, reservation.Reservation(
                old.runtime // 1000, old.period // 1000))
            return
        self.stop(vcpu)
        if old.number in _POLICIES:
            # The thread has this policy from a group interface that was in
            # use before.
            with self._explained(vcpu):
                privsep.set_policy(
                    vcpu.group, self._controller, vcpu.thread,
                    _POLICIES[old.number], old.priority)

    # The following methods explain what the kernel refuses.

    @contextlib.contextmanager
    def _explained(self, vcpu: VCPU) -> Iterator[None]:
        try:
            yield
        except (OSError, LookupError, ValueError) as cause:
            reason = f'thread {vcpu.thread}: {cause}'
            with contextlib.suppress(OSError, ValueError):
                reason = self._reason(cause, vcpu.thread) or reason
            raise error(vcpu.group, reason) from cause

    def _reason(self, cause: Exception, thread: int) -> str:
        """Returns reason and advice; '' if the kernel's error is enough."""
        number = cause.errno if isinstance(cause, OSError) else None
        if number == errno.EBUSY:
            return ('the kernel has no bandwidth left for SCHED_DEADLINE '
                    '(EBUSY); stop other SCHED_DEADLINE tasks, or lower '
                    '[nova_rt] cpu_cap')
        if number == errno.EINVAL:
            shortest, longest = self._admission.periods()
            return (f'the kernel refuses the values (EINVAL): a runtime must '
                    f'be at least {reservation.MIN_RUNTIME_US} us, and a '
                    f'period {shortest} to {longest} us; give such values, '
                    f'or change kernel.sched_deadline_period_min_us and '
                    f'kernel.sched_deadline_period_max_us')
        if number == errno.EPERM:
            return self._forbidden(thread)
        return ''

    def _forbidden(self, thread: int) -> str:
        mask = os.sched_getaffinity(thread)
        if mask.issuperset(self._admission.cpus()):
            return ('no permission (EPERM); the privileged process needs '
                    'CAP_SYS_NICE')
        return (f'thread {thread} may run on '
                f'{words.ids(sorted(mask), "CPU")} only, but SCHED_DEADLINE '
                f'needs all CPUs of the root domain (EPERM); remove the '
                f'[compute] cpu_shared_set, NUMA topology or cpuset that '
                f'restricts the thread')


@contextlib.contextmanager
def explained(group: str) -> Iterator[None]:
    """Turns errors of the kernel and its files into KernelError.

    :raises KernelError: when the block raises OSError, LookupError or
        ValueError
    """
    try:
        yield
    except (OSError, LookupError, ValueError) as cause:
        raise error(group, str(cause)) from cause


def error(group: str, reason: str) -> exception.KernelError:
    """Returns the error for a group or a process."""
    return exception.KernelError(interface=deadline.NAME, group=group,
                                 reason=reason)


def is_full(refusal: exception.KernelError) -> bool:
    """Checks whether the kernel refused for lack of bandwidth (EBUSY)."""
    cause = refusal.__cause__
    return isinstance(cause, OSError) and cause.errno == errno.EBUSY


def _cpus_of(thread: int) -> str:
    return words.ids(sorted(os.sched_getaffinity(thread)), 'CPU')
