# SPDX-License-Identifier: Apache-2.0

"""SCHED_DEADLINE on vCPU threads, one at a time, and why it is refused."""

from collections.abc import Collection, Iterable, Iterator, Mapping
import contextlib
import dataclasses
import errno
import os
import time

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as threads
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import pins as kernel_pins
from nova_rt.machine.kernel import starving
from nova_rt.machine import privsep
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation

#: How often a vCPU that starves is begun anew before an audit gives up.
_REVIVALS = 2
_LONGEST_SECONDS = 5.0
#: A 0-lag time is after the end of the period.
_PERIODS = 2
_GRACE_SECONDS = 0.25
_POLL_SECONDS = 0.02
#: What a vCPU holds until its 0-lag time, which is as far away as its overrun
#: takes by this share: 0.4 s for a tick of 4 ms.
_LITTLE = reservation.Reservation(10_000, 1_000_000)
_POLICIES = {os.SCHED_FIFO: 'fifo', os.SCHED_RR: 'rr'}


@dataclasses.dataclass(frozen=True, slots=True)
class VCPU:
    """The thread of one vCPU.

    :ivar group: of the thread, in the cpu hierarchy
    """

    group: str
    thread: int


class Threads:
    """Gives threads a runtime, each on one pCPU where *pins* can do that.

    All methods raise KernelError.

    :param controller: of the cpu hierarchy; '' for cgroup v2
    :param pins: None to leave threads where they may run: global EDF
    """

    def __init__(self, controller: str, admission: deadline.Admission,
                 pins: kernel_pins.Pins | None) -> None:
        self._controller = controller
        self._admission = admission
        self._pins = pins
        self._watch = starving.Watch()

    def policy(self, vcpu: VCPU) -> sched.Policy:
        with self._explained(vcpu):
            return sched.get(vcpu.thread)

    def has(self, vcpu: VCPU, wanted: reservation.Reservation, cpu: int
            ) -> bool:
        """Whether it has this reservation, on this pCPU if that counts."""
        if not self.policy(vcpu).grants(wanted.runtime_us, wanted.period_us):
            return False
        with self._explained(vcpu):
            return self._pins is None or self._pins.are(vcpu.thread, cpu)

    def grant(self, vcpu: VCPU, wanted: reservation.Reservation, cpu: int,
              undo: contextlib.ExitStack) -> None:
        """Set a reservation, or nothing once *undo* is closed."""
        old = self.policy(vcpu)
        self._free(vcpu, undo)
        self._start(vcpu, wanted)
        undo.callback(self._restore, vcpu, old)
        self._confine(vcpu, (cpu,), undo)
        if not self.has(vcpu, wanted, cpu):
            raise error(
                vcpu.group, f'thread {vcpu.thread} reads back '
                f'{self.policy(vcpu)} on the CPUs {_cpus_of(vcpu.thread)} '
                f'instead of {wanted} on {cpu}')

    def spare(self, process: int, claimed: Collection[int],
              undo: contextlib.ExitStack) -> None:
        """Keep a guest's other threads off the pCPUs of reservations."""
        if self._pins is not None:
            with explained(f'of process {process}'):
                before = self._pins.spare(process, claimed)
            undo.callback(self._pins.put_back, before)

    def is_spared(self, process: int, claimed: Collection[int]) -> bool:
        """Whether there is nothing left to do for :meth:`spare`."""
        with explained(f'of process {process}'):
            return self._pins is None or self._pins.is_spared(
                process, claimed)

    # Whether they run.

    def forget(self) -> None:
        """Forget what :meth:`note` remembered."""
        self._watch.forget()

    def note(self, guests: Iterable[VCPU]) -> None:
        """Remember how far vCPUs are, for :meth:`starves`."""
        self._watch.note(vcpu.thread for vcpu in guests)

    def starves(self, vcpu: VCPU, wanted: reservation.Reservation) -> bool:
        """Whether it is ready to run, and got nothing for two periods."""
        return self._watch.starves(vcpu.thread, wanted.period_us)

    def revive(self, guest: Mapping[VCPU, int],
               wanted: reservation.Reservation, undo: contextlib.ExitStack
               ) -> list[VCPU]:
        """Let vCPUs run that have their reservation, and starve.

        The kernel takes such a thread for throttled, and has no timer that
        ends that: a thread that left SCHED_DEADLINE while it was throttled
        came back before its 0-lag time (``kernel/sched/deadline.c``, the
        same from 6.1 to 7.2).  As an ordinary thread it is forgiven at that
        time, which is as far away as its share takes for what it overran.

        :param guest: the pCPU of each
        :returns: those that starve all the same: somebody gave them next to
            nothing for long, and their 0-lag time may be hours away
        """
        watch = starving.Watch()
        watch.note(vcpu.thread for vcpu in guest)
        return [vcpu for vcpu, cpu in guest.items()
                if not self._revive(watch, vcpu, wanted, cpu, undo)]

    def _revive(self, watch: starving.Watch, vcpu: VCPU,
                wanted: reservation.Reservation, cpu: int,
                undo: contextlib.ExitStack) -> bool:
        for _ in range(_REVIVALS):
            if not watch.starves(vcpu.thread, wanted.period_us):
                return True
            if not self._begin_anew(vcpu, wanted, cpu, undo):
                return False
            watch.forget()  # what it got as an ordinary thread
        return not watch.starves(vcpu.thread, wanted.period_us)

    def _begin_anew(self, vcpu: VCPU, wanted: reservation.Reservation,
                    cpu: int, undo: contextlib.ExitStack) -> bool:
        """Whether the kernel takes it again."""
        with self._explained(vcpu):
            overrun = threads.overrun_ns(vcpu.thread)
        self._free(vcpu, undo)
        self._owe_little(vcpu)
        time.sleep(min(_LONGEST_SECONDS, overrun * _LITTLE.period_us
                       / _LITTLE.runtime_us / 1_000_000_000))
        try:
            return self._start_within(
                _PERIODS * wanted.period_us / 1_000_000 + _GRACE_SECONDS,
                vcpu, wanted)
        finally:
            self._confine(vcpu, (cpu,), undo)

    def _owe_little(self, vcpu: VCPU) -> None:
        """Make one ordinary whose 0-lag time may be far away.

        Until then the kernel goes on to count what the thread has at this
        moment, and has to have room for it once more.
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
        """Make one ordinary that starves all the same.

        With a little of the CPU it can at least be ended.
        """
        with contextlib.ExitStack() as undo:
            self._free(vcpu, undo)
            self._owe_little(vcpu)

    def stop(self, vcpu: VCPU) -> None:
        """Make it ordinary where it is; one that has ended is."""
        with contextlib.ExitStack() as undo:
            with contextlib.suppress(exception.KernelError):
                # Else it sleeps on what it held, see sched.stop.
                self._free(vcpu, undo)
            self._make_ordinary(vcpu)

    def _make_ordinary(self, vcpu: VCPU) -> None:
        with (self._explained(vcpu),
              contextlib.suppress(ProcessLookupError)):
            privsep.set_deadline(
                vcpu.group, self._controller, vcpu.thread, 0, 0)

    def _free(self, vcpu: VCPU, undo: contextlib.ExitStack) -> None:
        """Let it run on the whole root domain, as the kernel demands."""
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
            # Of an interface for groups that was in use before.
            with self._explained(vcpu):
                privsep.set_policy(
                    vcpu.group, self._controller, vcpu.thread,
                    _POLICIES[old.number], old.priority)

    # What the kernel refuses.

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
        """What to do; '' where we know no better than the kernel."""
        number = cause.errno if isinstance(cause, OSError) else None
        if number == errno.EBUSY:
            return ('the kernel has no bandwidth left for SCHED_DEADLINE '
                    '(EBUSY); stop what else uses it, or lower [nova_rt] '
                    'cpu_cap')
        if number == errno.EINVAL:
            shortest, longest = self._admission.periods()
            return (f'the kernel refuses the values (EINVAL): its runtimes '
                    f'start at {reservation.MIN_RUNTIME_US} us, its periods '
                    f'go from {shortest} to {longest} us; give such ones, or '
                    f'change kernel.sched_deadline_period_min_us and '
                    f'..._max_us')
        if number == errno.EPERM:
            return self._forbidden(thread)
        return ''

    def _forbidden(self, thread: int) -> str:
        mask = os.sched_getaffinity(thread)
        if mask.issuperset(self._admission.cpus()):
            return ('no permission (EPERM); the privileged process needs '
                    'CAP_SYS_NICE')
        return (f'thread {thread} may run on the CPUs '
                f'{cpulist.format_ids(sorted(mask))} only, and SCHED_DEADLINE '
                f'needs all CPUs of the root domain (EPERM); let no [compute] '
                f'cpu_shared_set, NUMA topology or cpuset restrict it')


@contextlib.contextmanager
def explained(group: str) -> Iterator[None]:
    """Has what the kernel or its files say raised as KernelError."""
    try:
        yield
    except (OSError, LookupError, ValueError) as cause:
        raise error(group, str(cause)) from cause


def error(group: str, reason: str) -> exception.KernelError:
    return exception.KernelError(interface=deadline.NAME, group=group,
                                 reason=reason)


def is_full(refusal: exception.KernelError) -> bool:
    """Whether the kernel has no bandwidth for it."""
    cause = refusal.__cause__
    return isinstance(cause, OSError) and cause.errno == errno.EBUSY


def _cpus_of(thread: int) -> str:
    return cpulist.format_ids(sorted(os.sched_getaffinity(thread)))
