# SPDX-License-Identifier: Apache-2.0

"""The CPUs of this kernel that containers can reserve, and their shares.

A container of one pCPU reserves all that the host sells of each pCPU, until
the kernel refuses; then the containers are busy beside an ordinary task on
each pCPU, all at the same time or one pCPU after the other.  As root, on a
host that may die::

    tools/lab.sh KERNEL --cpus 4 -- python -m tests.full.kernel.sold

CPUs that an emulator runs in turns have late timers while several of them are
busy.  There, ``--in-turn`` shows what the kernel gives on each pCPU.

Exit status: 0 all shares are right and nothing is left, 1 otherwise.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import json
import os
import platform
import signal
import sys
import time
from typing import NamedTuple

from nova_rt.machine.trial import busy
from nova_rt.rules import exception
from nova_rt.services.compute import claims
from tests.full.kernel import guests
from tests.full.kernel import host as hosts

_PERIOD_US = 100_000
#: ppm of each pCPU that nova-compute asks for by default.
_CAP = 950_000
_SETTLE_SECONDS = 2.0
#: How long an ordinary task stays busy if nothing ends it.
_LIFETIME_SECONDS = 36_000.0
#: How long the reading of a clock and of the CPU time may take together.
_GAP_NS = 1_000_000
#: How many readings are made at most.
ATTEMPTS = 200


class Sold(NamedTuple):
    """A container that got its claim.

    :ivar pids: its processes
    """

    guest: guests.Guest
    claim: claims.RTClaim
    pids: tuple[int, ...]

    def send(self, number: signal.Signals) -> None:
        """Stops all processes, or lets all processes go on."""
        for pid in self.pids:
            os.kill(pid, number)

    def used(self) -> tuple[int, int]:
        """Returns a time and the CPU time used until then, in ns.

        This process may lose its CPU between two readings, for most of a
        period.  Of many readings, the first that took no time is returned.
        """
        readings = [_reading(self.pids)]
        while readings[-1][0] > _GAP_NS and len(readings) < ATTEMPTS:
            readings.append(_reading(self.pids))
        return min(readings)[1:]


def _reading(pids: Sequence[int]) -> tuple[int, int, int]:
    """Returns how long the reading took, its time and the CPU time, in ns."""
    begin = time.monotonic_ns()
    used = sum(map(busy.used_ns, pids))
    end = time.monotonic_ns()
    return end - begin, (begin + end) // 2, used


def reserve(host: hosts.Host, machine: guests.Guests, ppm: int,
            cpus: Sequence[int]) -> list[Sold]:
    """Returns the containers that got *ppm* of their pCPU, one of each pCPU.

    Containers that the kernel has no room for are gone again.  The processes
    of all containers are stopped.
    """
    sold = []
    for cpu in cpus:
        guest = machine.start(1)
        one = Sold(guest, hosts.claim(ppm * _PERIOD_US // 1_000_000,
                                      _PERIOD_US, cpu),
                   (guest.pid, *guest.threads()))
        try:
            host.enforcer.apply(guest.pid, one.claim)
        except exception.KernelError:
            guest.kill()
            guest.remove()
        else:
            one.send(signal.SIGSTOP)
            sold.append(one)
    return sold


@contextlib.contextmanager
def company(cpus: Sequence[int]) -> Iterator[None]:
    """An ordinary task is busy on each of the pCPUs."""
    noise = [busy.Busy({cpu}, _LIFETIME_SECONDS) for cpu in cpus]
    try:
        yield
    finally:
        for each in noise:
            each.kill()


@contextlib.contextmanager
def awake(sold: Sequence[Sold]) -> Iterator[None]:
    """The containers are busy."""
    try:
        for one in sold:
            one.send(signal.SIGCONT)
        time.sleep(_SETTLE_SECONDS)
        yield
    finally:
        for one in sold:
            one.send(signal.SIGSTOP)


def shares(sold: Sequence[Sold], seconds: float) -> list[float]:
    """Returns what each container gets beside busy ordinary tasks, in CPUs.

    The containers are stopped before and after the measurement.
    """
    cpus = {cpu for one in sold for cpu in one.claim.cpus}
    with company(sorted(cpus)), awake(sold):
        before = [one.used() for one in sold]
        time.sleep(seconds)
        after = [one.used() for one in sold]
    return [(used - used_before) / (end - start) for
            (start, used_before), (end, used)
            in zip(before, after, strict=True)]


def end(host: hosts.Host, sold: Sequence[Sold]) -> list[str]:
    """Ends all containers; returns the groups that still hold a budget."""
    for guest, _, _ in sold:
        host.enforcer.release(guest.pid)
        guest.kill()
    left = [guest.name for guest, _, _ in sold
            if host.interface.read(f'/machine/{guest.name}')]
    for guest, _, _ in sold:
        guest.remove()
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one JSON object, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--tolerance', type=float, default=0.02)
    parser.add_argument('--in-turn', action='store_true', help='measure one '
                        'pCPU after the other while the others are idle')
    options = parser.parse_args(arguments)
    host, machine = hosts.Host.find(_CAP), guests.Guests()
    ppm = min(_CAP, host.enforcer.capacity().ppm)
    cpus = sorted(os.sched_getaffinity(0))
    sold = reserve(host, machine, ppm, cpus)
    parts = [[one] for one in sold] if options.in_turn else [sold]
    measured = [share for part in parts
                for share in shares(part, options.seconds)]
    left = end(host, sold)
    wanted = ppm * _PERIOD_US // 1_000_000 / _PERIOD_US
    worst = max((abs(share - wanted) for share in measured), default=1.0)
    print(json.dumps({
        'sentence': f'{len(sold) * wanted:.2f} of {len(cpus)} CPUs, shares '
                    f'within {worst:.4f}',
        'kernel': platform.release(), 'interface': host.interface.name,
        'of each pCPU': not host.interface.replicated,
        'pCPUs': len(cpus), 'ppm of each': ppm,
        'sold': len(sold) * ppm / 1e6, 'in turn': options.in_turn,
        'shares': [round(share, 4) for share in measured],
        'sum': round(sum(measured), 4), 'worst': round(worst, 4),
        'left': left}))
    return int(bool(left) or worst > options.tolerance)


if __name__ == '__main__':
    sys.exit(main())
