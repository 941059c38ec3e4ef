# SPDX-License-Identifier: Apache-2.0

"""Figure 5 of the paper on this kernel, which needs four pCPUs.

Containers of two vCPUs of 0.5, one of 0.3 and three of 0.4 leave 0.75 free on
no pCPU, so the kernel refuses a container of 0.75.  After the third container
has moved, the fourth fits.  Then all are busy beside an ordinary task on each
pCPU.  As root, on a host that may die::

    tools/lab.sh KERNEL --cpus 4 -- python -m tests.full.kernel.figure5

Exit status: 0 if the kernel admits and refuses as in the figure, each
container gets its shares and nothing is left; 1 otherwise.
"""

import argparse
from collections.abc import Iterator, Sequence
import json
import platform
import signal
import sys

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import sold as shared

_PERIOD_US = 100_000
_CAP = 950_000
_CPUS = range(4)
#: The runtime in us and the pCPUs of the first three containers.
_FIRST = {'a': (50_000, (0, 1)), 'b': (30_000, (2,)), 'c': (40_000, (3, 2, 0))}
_MOVED = (1, 2, 0)
_FOURTH = 75_000


def _claim(runtime_us: int, cpus: tuple[int, ...]) -> claims.RTClaim:
    return claims.RTClaim('0' * 36, 0, reservation.Reservation(
        runtime_us, _PERIOD_US), cpus)


class Figure:
    """The host and its containers by the names of the figure.

    :ivar wrong: sentences about what was not as in the figure
    """

    def __init__(self) -> None:
        self.host, self.machine = hosts.Host.find(_CAP), guests.Guests()
        self.sold: dict[str, shared.Sold] = {}
        self.wrong: list[str] = []

    def apply(self, name: str, runtime_us: int, cpus: tuple[int, ...],
              fits: bool = True) -> None:
        """Reserves for a new container, or moves a container."""
        claim = _claim(runtime_us, cpus)
        guest = (self.sold[name].guest if name in self.sold
                 else self.machine.start(len(cpus)))
        try:
            self.host.enforcer.apply(guest.pid, claim)
        except exception.KernelError as error:
            guest.kill()
            guest.remove()
            if fits:
                self.wrong.append(f'{name} was refused: {error}')
            return
        if not fits:
            self.wrong.append(f'{name} was admitted on {cpus}')
        self.sold[name] = shared.Sold(guest, claim,
                                      (guest.pid, *guest.threads()))

    def play(self) -> None:
        """Makes the steps of the figure."""
        for name, (runtime_us, cpus) in _FIRST.items():
            self.apply(name, runtime_us, cpus)
        for cpu in _CPUS:
            self.apply('d', _FOURTH, (cpu,), fits=False)
        self.apply('c', _FIRST['c'][0], _MOVED)
        self.apply('d', _FOURTH, (3,))

    def shares(self, seconds: float) -> Iterator[tuple[str, float, float]]:
        """Yields the name of a container, its share and what it claims."""
        sold = list(self.sold.values())
        for one in sold:
            one.send(signal.SIGSTOP)
        for name, one, share in zip(
                self.sold, sold, shared.shares(sold, seconds), strict=True):
            wanted = one.claim.reservation
            yield name, share, (len(one.claim.cpus) * wanted.runtime_us
                                / wanted.period_us)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one JSON object, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--tolerance', type=float, default=0.02,
                        help='how far the sum of the shares of a container '
                             'may be off, in CPUs')
    options = parser.parse_args(arguments)
    figure = Figure()
    figure.play()
    measured = list(figure.shares(options.seconds))
    left = shared.end(figure.host, list(figure.sold.values()))
    worst = max(abs(share - wanted) for _, share, wanted in measured)
    print(json.dumps({
        'kernel': platform.release(), 'interface': figure.host.interface.name,
        'shares': {name: [round(share, 4), wanted]
                   for name, share, wanted in measured},
        'sum': round(sum(share for _, share, _ in measured), 4),
        'worst': round(worst, 4), 'wrong': figure.wrong, 'left': left}))
    return int(bool(left or figure.wrong) or worst > options.tolerance)


if __name__ == '__main__':
    sys.exit(main())
