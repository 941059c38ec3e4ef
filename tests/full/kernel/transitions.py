# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE after each change: what they get.

Guests of busy processes are reserved, released, reserved again, resized,
killed, changed by hand and audited, in random order, by the product's own
enforcer and beside busy ordinary tasks.  After each step the CPU time of
every vCPU is compared with its reservation: what reads back right does not
count.  As root, in the lab, where time is the instructions of one CPU::

    tools/lab.sh debian:13 --icount --instruction 16 -- \\
        python -m tests.full.kernel.transitions rounds
    ... transitions operations --seed 7

``rounds`` releases one busy guest and reserves for it again, with random
gaps and sizes; ``operations`` does all of it with several guests.
"""

import argparse
import collections
from collections.abc import Callable, Iterator
import contextlib
import logging
import os
import pathlib
import random
import re
import signal
import sys
import time

from nova_rt.machine.host import sched
from nova_rt.machine import sched_setattr
from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import reconcile
from tests.full.kernel import machines
from tests.full.kernel import pinned
from tests.full.kernel import summary

PER_CENT = (5, 10, 20, 30, 45, 60, 85)
#: If there is one guest, its runtime is at the same place of each period.
ROUND_PERIODS_MS = (5, 10, 20, 50, 100, 200, 500)
#: Several guests move each other's runtimes; if the period is long, the ends
#: of a measurement cut off too much.
PERIODS_MS = (5, 10, 20)
GAPS_S = (0, 0, 0, 0.01, 0.05, 0.2, 1, 10)
#: A kernel that charges at ticks is off by one tick at both ends: 8 ms at 250
#: Hz.
_LEAST_SECONDS, _LEAST_PERIODS = 2.0, 10
_TOGETHER_SECONDS = 5.0
_SLOW_US, _SLOW_SECONDS = 100_000, 25.0
#: A deadline is at most one period ahead, unless a timer made the vCPU pay for
#: an overrun by 2 us every 4 s.
_FAR_SECONDS = 1.0
_TOLD_STARVING = 'no CPU time while they are SCHED_DEADLINE'
_MOST_GUESTS = 3
_LIFETIME_SECONDS = 36_000
_MOST_TRIES = 50
_TOLD = 25
#: The part of the capacity that a claim leaves, because integers are rounded.
_NOISE_PPM = 20


class Transitions:
    """One host, its guests, and their reservations.

    :ivar held: by guest; None for one without a reservation
    """

    def __init__(self, seed: int, tolerance: float) -> None:
        self.seed, self._began = seed, time.monotonic()
        self.tolerance = tolerance
        self.host = pinned.Host(tolerance)
        self.chosen = random.Random(seed)  # noqa: S311 - not for secrets
        self.held: dict[machines.Machine, claims.RTClaim | None] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.off: list[float] = []
        self.wrong: list[str] = []

    # What is done.

    def round(self) -> None:
        """Releases a busy guest, and reserves for it again."""
        guest = next(iter(self.held), None) or self.start()
        self.release(guest)
        time.sleep(self.chosen.choice(GAPS_S) * self.chosen.random())
        self.apply(guest, ROUND_PERIODS_MS)
        claim = self.held[guest]
        assert claim is not None
        period = claim.reservation.period_us / 1_000_000
        self.measure('again', max(_LEAST_SECONDS, _LEAST_PERIODS * period),
                     max(1, 2 * period))
        if self.chosen.random() < 0.1:
            self.kill(guest)

    def operation(self) -> None:
        """Does an operation of any kind, and audits if it broke something."""
        if len(self.held) < 1 + self.chosen.randrange(_MOST_GUESTS):
            self.counts['start'] += 1
            return self.apply(self.start(), PERIODS_MS)
        kind = self.chosen.choice(list(_KINDS))
        self.counts[kind] += 1
        self.tell(kind)
        return _KINDS[kind](self, self.chosen.choice(list(self.held)))

    def start(self) -> machines.Machine:
        """Starts a guest that is busy, and has no reservation yet."""
        cpus = self.host.cpus
        chosen = self.chosen.sample(cpus, self.chosen.randint(1, len(cpus)))
        guest = self.host.machines.machine(tuple(chosen), _LIFETIME_SECONDS)
        for each in (guest.emulator, *guest.vcpus):
            os.setpriority(os.PRIO_PROCESS, each.pid, 0)
        self.held[guest] = None
        return guest

    def resize(self, guest: machines.Machine) -> None:
        self.apply(guest, PERIODS_MS)

    def again(self, guest: machines.Machine) -> None:
        self.release(guest)
        time.sleep(self.chosen.choice(GAPS_S[:-1]))
        self.apply(guest, PERIODS_MS)

    def apply(self, guest: machines.Machine, periods_ms: tuple[int, ...]
              ) -> None:
        """Gives a guest a random reservation that fits, if there is any."""
        free = self.host.enforcer.capacity().ppm - _NOISE_PPM - sum(
            claim.reservation.bandwidth for other, claim in self.held.items()
            if claim and other is not guest)
        sizes = [each for each in PER_CENT if each * 10_000 <= free]
        if not sizes:
            return
        period = self.chosen.choice(periods_ms) * 1000
        wanted = pinned.claim(period * self.chosen.choice(sizes) // 100,
                              period, *guest.cpus)
        self.tell(wanted.identifier[36:])
        self.host.enforcer.apply(guest.pid, wanted)
        self.held[guest] = wanted

    def release(self, guest: machines.Machine) -> None:
        self.host.enforcer.release(guest.pid)
        self.held[guest] = None

    def kill(self, guest: machines.Machine) -> None:
        """Kills a guest with its reservation; its bandwidth must come back.

        :raises TimeoutError: it does not die
        """
        del self.held[guest]
        with _patience():
            guest.end()

    def restart(self, guest: machines.Machine) -> None:
        """Starts a nova-compute after the old one was killed in a change."""
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                self.chosen.choice((self.again, self.release))(guest)
            os._exit(0)
        time.sleep(self.chosen.random() * 0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.host = pinned.Host(self.tolerance, self.host.machines)
        self.audit(guest)

    def audit(self, guest: machines.Machine) -> None:
        """Audits as nova-compute does each minute; logs errors."""
        reconcile.Reconciler(self.host.enforcer).run([
            reconcile.RunningGuest(str(each.pid), each.pid,
                                   (claim,) if claim else ())
            for each, claim in self.held.items()],
            [each.pid for each in self.held])

    def ordinary(self, guest: machines.Machine) -> None:
        """Makes a vCPU ordinary by hand (chrt --other)."""
        os.sched_setscheduler(guest.vcpus[0].pid, os.SCHED_OTHER,
                              os.sched_param(0))
        self.audit(guest)

    def first_in_first_out(self, guest: machines.Machine) -> None:
        """Makes a vCPU SCHED_FIFO by hand, which leaves us no CPU time."""
        with pinned.punctual():
            os.sched_setscheduler(guest.vcpus[0].pid, os.SCHED_FIFO,
                                  os.sched_param(5))
            self.audit(guest)
            if self.held[guest] is None:
                os.sched_setscheduler(guest.vcpus[0].pid, os.SCHED_OTHER,
                                      os.sched_param(0))

    def widened(self, guest: machines.Machine) -> None:
        """Changes the cpuset of a vCPU by hand."""
        self.host.tasks.confine(guest.vcpus[0].pid, self.host.cpus)
        self.audit(guest)

    def stuck(self, guest: machines.Machine) -> None:
        """Makes a budget that one audit must repair.

        By a period that is long beside what two system calls take here, but
        a timer between them makes what no audit can cure.
        """
        claim = self.held[guest]
        if claim is None:
            return None
        period = claim.reservation.period_us
        slow = self.held[guest] = pinned.claim(
            claim.reservation.runtime_us * _SLOW_US // period, _SLOW_US,
            *claim.cpus)
        self.host.enforcer.apply(guest.pid, slow)
        if self._stick(guest, slow):
            self.counts['really stuck'] += 1
            if _ahead_seconds(guest.vcpus[0].pid) > _FAR_SECONDS:
                return self._given_up(guest)
            self.audit(guest)
            self.measure('cured', _SLOW_SECONDS, 0.2)
        self.host.enforcer.apply(guest.pid, claim)
        self.held[guest] = claim
        return None

    def _given_up(self, guest: machines.Machine) -> None:
        """A guest that no audit can cure is reported, and can be ended.

        The next operations show that this guest takes nothing from others.
        """
        self.counts['given up'] += 1
        before = len(self.wrong)
        self.audit(guest)
        told = [each for each in self.wrong[before:] if _TOLD_STARVING in each]
        for each in told:
            self.wrong.remove(each)
        if len(told) != 1:
            self.wrong.append(f'{len(told)} times told: it cannot be cured')
        if sched.get(guest.vcpus[0].pid).is_deadline:
            self.wrong.append('one that cannot be cured is not ordinary')
        self.kill(guest)

    def _stick(self, guest: machines.Machine, claim: claims.RTClaim) -> bool:
        """Returns whether a vCPU gets nothing, which depends on the moment."""
        thread, wanted = guest.vcpus[0].pid, claim.reservation
        for _ in range(_MOST_TRIES):
            time.sleep(self.chosen.random() * wanted.period_us / 1_000_000)
            self.host.tasks.confine(thread, self.host.cpus)
            sched_setattr.start(thread, *sched_setattr.SMALLEST)
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
            time.sleep(wanted.period_us / 1_000_000)
            sched_setattr.start(thread, wanted.runtime_us, wanted.period_us)
            self.host.tasks.confine(thread, claim.cpus[:1])
            if not self.host.enforcer.holds(guest.pid, claim):
                return True
        return False

    # The following methods check the state.

    def measure(self, name: str, seconds: float, settle_seconds: float
                ) -> None:
        """Checks the shares of all vCPUs that have a reservation."""
        wanted = [(vcpu, claim.reservation) for guest, claim
                  in self.held.items() if claim for vcpu in guest.vcpus]
        shares = self.host.shares([vcpu for vcpu, _ in wanted], seconds,
                                  settle_seconds)
        for share, (_, reserved) in zip(shares, wanted, strict=True):
            off = share - reserved.runtime_us / reserved.period_us
            self.off.append(off)
            if abs(off) > self.tolerance:
                self.wrong.append(f'{name}: {share} instead of {reserved}')
                self.tell(self.wrong[-1])

    @staticmethod
    def tell(*what: object) -> None:
        """Prints each step at once, because the run may be cut off."""
        print(f'{time.monotonic():.3f}', *what, file=sys.stderr, flush=True)

    def run(self, kind: str, count: int) -> None:
        """Makes this many steps of ``rounds`` or ``operations``."""
        with self.host.noise(_LIFETIME_SECONDS):
            # The busy tasks must delay the guests, but not this process.
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            for number in range(count):
                try:
                    if kind == 'rounds':
                        self.counts[kind] += 1
                        self.round()
                    else:
                        self.operation()
                        self.measure(kind, _TOGETHER_SECONDS, 0.2)
                except (exception.RTError, OSError) as error:
                    self.wrong.append(str(error))
                    self.tell(error)
                if not (number + 1) % _TOLD:
                    self.tell('so far:', self.summary().sentence)

    def finish(self) -> bool:
        """Ends all guests; returns whether all bandwidth is free then."""
        for guest in list(self.held):
            self.release(guest)
            self.kill(guest)
        whole = self.host.enforcer.capacity().ppm
        try:
            with self.host.guest(*self.host.cpus) as guest:
                self.host.enforcer.apply(guest.pid, pinned.claim(
                    whole // 10, 100_000, *self.host.cpus))
            return True
        except exception.KernelError as error:
            self.wrong.append(str(error))
            return False
        finally:
            self.host.machines.close()

    def summary(self, released: bool = False) -> summary.Summary:
        """Returns the results so far."""
        return summary.Summary(
            os.uname().release, self.host.enforcer.name, self.seed,
            self.counts.total() - self.counts['really stuck']
            - self.counts['given up'],
            round(time.monotonic() - self._began, 1),
            self.counts, self.off, self.wrong, released,
            summary.complaints(summary.kernel_log()))


class Failures(logging.Handler):
    """A log handler, because only the log says what an audit cannot do."""

    def __init__(self, transitions: Transitions) -> None:
        super().__init__(logging.ERROR)
        self._transitions = transitions

    def emit(self, record: logging.LogRecord) -> None:
        self._transitions.wrong.append(record.getMessage())
        self._transitions.tell(record.getMessage())


_KINDS: dict[str, Callable[[Transitions, machines.Machine], None]] = {
    each.__name__: each for each in (
        Transitions.resize, Transitions.again, Transitions.release,
        Transitions.kill, Transitions.restart, Transitions.audit,
        Transitions.ordinary, Transitions.first_in_first_out,
        Transitions.widened, Transitions.stuck)}


def _ahead_seconds(thread: int) -> float:
    """Returns how far its deadline is ahead; both clocks began at the boot."""
    text = pathlib.Path(f'/proc/{thread}/sched').read_text()
    found = re.search(r'^dl\.deadline\s*:\s*([0-9]+)', text, re.MULTILINE)
    return int(found[1]) / 1e9 - time.monotonic() if found else 0.0


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """:raises TimeoutError: what is done takes longer than 30 s"""
    def give_up(number: int, frame: object) -> None:
        raise TimeoutError('a guest does not die within 30 s')

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('kind', choices=('rounds', 'operations'))
    parser.add_argument('--count', type=int, default=0,
                        help='how many (default: 100 rounds, 300 operations)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--tolerance', type=float, default=0.005,
                        help='how far a share may be off, in CPUs')
    args = parser.parse_args(argv)
    count = args.count or (100 if args.kind == 'rounds' else 300)
    transitions = Transitions(args.seed, args.tolerance)
    logging.getLogger().addHandler(Failures(transitions))
    transitions.run(args.kind, count)
    found = transitions.summary(transitions.finish())
    print(found.as_json())
    faults = found.faults(count, args.tolerance)
    print(*faults, sep='\n', file=sys.stderr)
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
