# SPDX-License-Identifier: Apache-2.0

"""How many CPUs of this kernel containers can reserve, and what they get.

A container of one pCPU reserves all that the host sells of each pCPU, until
the kernel refuses; then all containers are busy beside an ordinary task on
each pCPU.  As root, on a host that may die::

    tools/lab.sh KERNEL --cpus 4 -- python -m tests.full.kernel.sold

Exit status: 0 all shares are right and nothing is left, 1 otherwise.
"""

import argparse
from collections.abc import Sequence
import json
import os
import platform
import sys
import time

from nova_rt.machine.trial import busy
from nova_rt.rules import exception
from nova_rt.services.compute import claims
from tests.full.kernel import guests
from tests.full.kernel import host as hosts

_PERIOD_US = 100_000
#: ppm of each pCPU that nova-compute asks for by default.
_CAP = 950_000
_SETTLE_SECONDS = 2.0


def reserve(host: hosts.Host, machine: guests.Guests, ppm: int
            ) -> dict[guests.Guest, claims.RTClaim]:
    """Returns the containers that got *ppm* of their pCPU, one of each pCPU.

    Containers that the kernel has no room for are gone again.
    """
    sold = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        guest = machine.start(1)
        claim = hosts.claim(ppm * _PERIOD_US // 1_000_000, _PERIOD_US, cpu)
        try:
            host.enforcer.apply(guest.pid, claim)
        except exception.KernelError:
            guest.kill()
            guest.remove()
        else:
            sold[guest] = claim
    return sold


def shares(sold: Sequence[guests.Guest], seconds: float) -> list[float]:
    """Returns what each container gets beside busy ordinary tasks, in CPUs."""
    noise = [busy.Busy({cpu}) for cpu in os.sched_getaffinity(0)]
    try:
        time.sleep(_SETTLE_SECONDS)
        start = time.monotonic()
        before = [guest.cpu_seconds() for guest in sold]
        time.sleep(seconds)
        passed = time.monotonic() - start
        return [(guest.cpu_seconds() - used) / passed
                for guest, used in zip(sold, before, strict=True)]
    finally:
        for each in noise:
            each.kill()


def end(host: hosts.Host, sold: Sequence[guests.Guest]) -> list[str]:
    """Ends all containers; returns the groups that still hold a budget."""
    for guest in sold:
        host.enforcer.release(guest.pid)
        guest.kill()
    left = [guest.name for guest in sold
            if host.interface.read(f'/machine/{guest.name}')]
    for guest in sold:
        guest.remove()
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one JSON object, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--tolerance', type=float, default=0.02)
    options = parser.parse_args(arguments)
    host, machine = hosts.Host.find(_CAP), guests.Guests()
    ppm = min(_CAP, host.enforcer.capacity().ppm)
    sold = reserve(host, machine, ppm)
    measured = shares(list(sold), options.seconds)
    left = end(host, list(sold))
    worst = max((abs(share - claim.reservation.runtime_us / _PERIOD_US)
                 for share, claim in zip(measured, sold.values(),
                                         strict=True)), default=1.0)
    print(json.dumps({
        'kernel': platform.release(), 'interface': host.interface.name,
        'of each pCPU': not host.interface.replicated,
        'pCPUs': len(os.sched_getaffinity(0)), 'ppm of each': ppm,
        'sold': len(sold) * ppm / 1e6, 'shares': [
            round(share, 4) for share in measured],
        'worst': round(worst, 4), 'left': left}))
    return int(bool(left) or worst > options.tolerance)


if __name__ == '__main__':
    sys.exit(main())
