# SPDX-License-Identifier: Apache-2.0

"""Random operations on a real kernel, through the product's own enforcer.

Containers of busy tasks are started, resized, released alive, killed and left
behind, and the process that does it is killed and started again.  After each
operation the kernel must hold what is claimed, and a killed task must end.  A
kernel of the first HCBS patches dies of a budget that is taken too early.  Run
the soak where a panic does no harm.  Runs with other seeds, each on a fresh
boot, add up.  As root::

    python -m tests.full.kernel.soak --operations 2000 --seed 1

Exit status: 0 all was as it should be, 1 something was not, and the summary
says what.
"""

import argparse
import collections
from collections.abc import Callable
import contextlib
import logging
import os
import pathlib
import random
import signal
import sys
import time

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import reconcile
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import summary

PERIODS_MS = (10, 20, 50, 100, 200, 500)
PER_CENT = (5, 10, 20, 30, 45)
WEIGHTS = {'start': 20, 'resize': 24, 'release': 12, 'end': 12, 'orphan': 8,
           'restart': 8, 'killed': 12}
#: Of all operations, in per cent; most of the time is spent on these.
_MEASURED = 4
#: This many guests fill a pCPU.
_MOST_GUESTS = 4
#: After this number of operations the run prints its results.
_TOLD = 50
#: After this time a change is in force: two of the longest period.
_SETTLE_SECONDS = 1.0
#: A multiple of all periods.  Compared with it, a runtime that other guests
#: move over one of its ends is short: at most 250 ms, and 45 ms were seen.
_MEASURE_SECONDS = 40.0
_TOLERANCE = 0.02
_NOISE_PPM = 20


class Soak:
    """A host, the guests on it, and what is claimed for them.

    :param measured: how often shares are measured, in per cent
    :param most: the largest number of guests; None if they may fill the host
    :ivar wrong: sentences about what was not as it should be
    :ivar off: by how much shares differed from what was claimed
    """

    def __init__(self, seed: int, measured: int,
                 most: int | None = None) -> None:
        self.seed, self._began = seed, time.monotonic()
        self.chosen = random.Random(seed)  # noqa: S311 - not for secrets
        self.weights = {**WEIGHTS, 'measure': measured}
        self.machine = guests.Guests()
        self.claims: dict[guests.Guest, claims.RTClaim] = {}
        self.free: list[guests.Guest] = []
        self.left: list[guests.Guest] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.off: list[float] = []
        self.restart()
        self.most = most or _MOST_GUESTS * (
            1 if self.interface.replicated else len(_cpus()))

    def restart(self) -> None:
        """Starts a new nova-compute, which knows nothing and reconciles."""
        found = hosts.Host.find()
        self.interface, self.enforcer = found.interface, found.enforcer
        reconcile.Reconciler(self.enforcer).run([
            reconcile.RunningGuest(guest.name, guest.pid, held)
            for guest, held in (
                *((guest, (claim,)) for guest, claim in self.claims.items()),
                *((guest, ()) for guest in self.free))],
            [guest.pid for guest in (*self.claims, *self.free)])

    def step(self) -> None:
        """Does one operation, and checks the kernel after it."""
        kind = self.chosen.choices(
            *zip(*self.weights.items(), strict=True))[0]
        self.counts[kind] += 1
        self.tell(kind)
        try:
            getattr(self, f'_{kind}')()
        except (exception.RTError, TimeoutError) as error:
            self.wrong.append(f'{kind}: {error}')
        for guest, claim in self.claims.items():
            if not self.enforcer.holds(guest.pid, claim):
                self.wrong.append(f'{kind}: {guest.name} does not hold '
                                  f'{claim.reservation}')
        time.sleep(self.chosen.choice((0, 0, 0.05, 0.3)))

    @staticmethod
    def tell(*what: object) -> None:
        """Prints each step at once: nothing else is left if the host dies."""
        print(f'{time.monotonic():.3f}', *what, file=sys.stderr, flush=True)

    # Operations.

    def _start(self) -> None:
        if len(self.claims) + len(self.free) >= self.most:
            return self._end()
        guest = self.machine.start(self.chosen.choice((1, 1, 2)))
        self.free.append(guest)
        return self._apply(guest)

    def _resize(self) -> None:
        guest = self._any(self.claims)
        if guest is not None:
            self._apply(guest)

    def _apply(self, guest: guests.Guest) -> None:
        claim = self._claim()
        used = self._used(guest, *claim.cpus)
        fits = used + claim.reservation.bandwidth <= min(
            hosts.CAP, self.enforcer.capacity().ppm) - _NOISE_PPM
        self.tell(guest.name, claim.identifier[36:])
        try:
            self.enforcer.apply(guest.pid, claim)
        except exception.KernelError:
            if fits:
                self.tell(*self._room())
                raise
            self.counts['refused'] += 1
            return
        if guest in self.free:
            self.free.remove(guest)
        self.claims[guest] = claim

    def _release(self) -> None:
        guest = self._any(self.claims)
        if guest is not None:
            del self.claims[guest]
            self.free.append(guest)
            self.tell(guest.name)
            self.enforcer.release(guest.pid)

    def _end(self) -> None:
        """Removes a group as libvirt does, so that its budget goes, too."""
        guest = self._any([*self.claims, *self.free])
        if guest is not None:
            self._forget(guest)
            self.tell(guest.name)
            guest.kill()
            guest.remove()
            self.enforcer.settle()

    def _orphan(self) -> None:
        """Leaves a group without tasks, with its budget."""
        guest = self._any(self.claims)
        if guest is not None:
            self._forget(guest)
            self.tell(guest.name)
            guest.kill()
            self.left.append(guest)
            self.enforcer.release_orphans(())
            self.enforcer.settle()

    def _restart(self) -> None:
        self.restart()

    def _killed(self) -> None:
        """Kills the process in the middle of a change."""
        guest = self._any(self.claims)
        if guest is None:
            return
        action: Callable[[], None]
        if self.chosen.random() < 0.5:
            claim = self._claim()
            action = lambda: self.enforcer.apply(  # noqa: E731
                guest.pid, claim)
        else:
            action = lambda: self.enforcer.release(guest.pid)  # noqa: E731
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                action()
            os._exit(0)
        time.sleep(self.chosen.random() * 0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.restart()

    def _measure(self) -> None:
        """Measures the CPU time of the busy tasks of each guest."""
        if not self.claims:
            return self._start()
        time.sleep(_SETTLE_SECONDS)
        before = {guest: guest.cpu_seconds() for guest in self.claims}
        start = time.monotonic()
        time.sleep(_MEASURE_SECONDS)
        seconds = time.monotonic() - start
        for guest, used in before.items():
            wanted = self.claims[guest].reservation
            share = (guest.cpu_seconds() - used) / seconds
            self.off.append(share - wanted.runtime_us / wanted.period_us)

    # Parts of them.

    def _claim(self) -> claims.RTClaim:
        period = self.chosen.choice(PERIODS_MS) * 1000
        runtime = max(self.interface.least_runtime_us(),
                      period * self.chosen.choice(PER_CENT) // 100)
        return hosts.claim(runtime, period, self.chosen.choice(_cpus()))

    def _used(self, but: guests.Guest, cpu: int) -> int:
        """Returns the ppm of a pCPU that other guests have.

        The next audit takes the part of guests that were left.
        """
        left = [self.interface.read(f'/machine/{guest.name}')
                for guest in self.left]
        return sum(claim.reservation.bandwidth for guest, claim
                   in self.claims.items() if guest is not but and (
                       self.interface.replicated or cpu in claim.cpus)) + sum(
            held.runtime_us.get(cpu, 0) * reservation.PPM
            // held.period_us for held in left if held)

    def _room(self) -> list[str]:
        """Returns who holds which budget, for a person."""
        top = self.machine.tops[0]
        return [f'{guests.dying(top)} removed groups are counted',
                *(f'{path.name} holds {held}' for path in
                  (top, *filter(pathlib.Path.is_dir, top.iterdir()))
                  if (held := self.interface.read(
                      f'/{path.relative_to(top.parent)}')))]

    def _any(self, among: object) -> guests.Guest | None:
        found = list(among)  # type: ignore[call-overload]
        return self.chosen.choice(found) if found else None

    def _forget(self, guest: guests.Guest) -> None:
        self.claims.pop(guest, None)
        if guest in self.free:
            self.free.remove(guest)

    def finish(self) -> bool:
        """Ends all guests; returns whether the kernel then holds nothing."""
        for guest in [*self.claims, *self.free, *self.left]:
            self._forget(guest)
            guest.kill()
            try:
                guest.remove()
            except TimeoutError as error:
                self.wrong.append(f'at the end: {error}')
        self.enforcer.settle()
        held = self.interface.read('/machine')
        if held is not None:
            self.wrong.append(f'at the end /machine holds {held}')
        self.machine.close()
        return held is None

    def summary(self, released: bool = False) -> summary.Summary:
        """Returns the results so far."""
        return summary.Summary(
            os.uname().release, self.interface.name, self.seed,
            self.counts.total() - self.counts['refused'],
            round(time.monotonic() - self._began, 1), self.counts, self.off,
            self.wrong, released, summary.complaints(summary.kernel_log()))


def _cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--operations', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--guests', type=int, metavar='N',
                        help='the largest number of guests; with few guests '
                             'an operation takes less time (default: as many '
                             'as fill the pCPUs)')
    parser.add_argument('--tolerance', type=float, default=_TOLERANCE,
                        help='how far a share may be off, in CPUs')
    parser.add_argument('--measured', type=int, default=_MEASURED,
                        metavar='PERCENT',
                        help='how many operations measure shares, each for '
                             f'{_MEASURE_SECONDS:g} s (default: %(default)s)')
    args = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    # The busy ordinary tasks must delay the guests, but not this process.
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    soak = Soak(args.seed, args.measured, args.guests)
    for number in range(args.operations):
        soak.step()
        if not (number + 1) % _TOLD:
            # This is all that is left if the time is over, or the host is
            # dead.
            soak.tell('so far:', soak.summary().sentence)
    found = soak.summary(soak.finish())
    print(found.as_json())
    faults = found.faults(args.operations,
                          args.tolerance if args.measured else None)
    print(*faults, sep='\n', file=sys.stderr)
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
