# SPDX-License-Identifier: Apache-2.0

"""Somebody else changes groups of reserved containers, and an audit follows.

Two busy containers have a reservation on the same pCPU.  Numbers and the
cpuset of the first one change, the controllers of the group of all guests are
switched off, and an audit runs after each change as in nova-compute; if a
container does not hold its reservation then, a second audit runs.  Then a
foreign group takes a part of what is left of the pCPU.  As root, on a host
that may die, with cgroup v2 and ``cpu.rt.max``::

    tools/lab.sh KERNEL --cpus 4 -- python -m tests.full.kernel.tampered

Exit status: 0 if audits corrected each change that the kernel accepted, both
containers get their shares in the end, and nothing is left; 1 otherwise.
"""

import argparse
from collections.abc import Callable, Sequence
import contextlib
import errno
import functools
import json
import logging
import os
import platform
import sys
from typing import Any

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import reconcile
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import sold as shared

_RUNTIME_US, _PERIOD_US = 40_000, 100_000
_FOREIGN = 'nova-rt-foreign'
#: More than the containers and the foreign group leave.
_MORE_US = 20_000
#: If both containers lost their budgets, the first one may get its budget
#: only after the second one.
AUDITS = 2
_MAX, _CPUS, _CONTROL = 'cpu.rt.max', 'cpuset.cpus', 'cgroup.subtree_control'


class Said(logging.Handler):
    """Keeps what an audit logs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def since_last(self) -> list[str]:
        texts, self.texts = self.texts, []
        return texts


class Trial:
    """A host, two containers with reservations, and the audit."""

    def __init__(self) -> None:
        self.host, self.machine = hosts.Host.find(), guests.Guests()
        self.audit, self.said = reconcile.Reconciler(
            self.host.enforcer), Said()
        logging.getLogger(reconcile.__name__).addHandler(self.said)
        self.top = self.machine.tops[0]
        self.sold = [self._start(0) for _ in range(2)]
        self.first = self.sold[0].guest.paths[0]

    def _start(self, cpu: int) -> shared.Sold:
        guest = self.machine.start(1)
        claim = hosts.claim(_RUNTIME_US, _PERIOD_US, cpu)
        self.host.enforcer.apply(guest.pid, claim)
        return shared.Sold(guest, claim, (guest.pid, *guest.threads()))

    @property
    def held(self) -> list[bool]:
        return [*map(self._holds, self.sold)]

    def _holds(self, one: shared.Sold) -> bool:
        # A controller may be off.
        with contextlib.suppress(exception.KernelError):
            return self.host.enforcer.holds(one.guest.pid, one.claim)
        return False

    def correct(self) -> None:
        """Audits the host."""
        self.audit.run(
            [reconcile.RunningGuest(one.guest.name, one.guest.pid,
                                    (one.claim,)) for one in self.sold],
            [one.guest.pid for one in self.sold])

    def changed(self, change: Callable[[], None]) -> dict[str, Any]:
        """Makes a change and audits the host; returns what was seen.

        Whether the containers hold their reservations is seen before the
        first audit, and after each audit.
        """
        self.said.since_last()
        try:
            change()
        except OSError as error:
            seen = {'refused': errno.errorcode[error.errno or 0]}
        else:
            seen = {}
        held = [self.held]
        while len(held) <= AUDITS and not (len(held) > 1 and all(held[-1])):
            self.correct()
            held.append(self.held)
        return {**seen, 'said': self.said.since_last(), 'held': held}

    # The following methods are the changes.

    def numbers(self) -> None:
        """Writes half of the runtime."""
        (self.first / _MAX).write_text(f'{_RUNTIME_US // 2} {_PERIOD_US}')

    def none(self) -> None:
        """Takes the budget of a container, after its tasks are ordinary."""
        for task in self.sold[0].guest.threads():
            os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
        (self.first / _MAX).write_text('max 0')

    def cpuset(self) -> None:
        """Pins a container to the last pCPU, with the same budget."""
        numbers = (self.first / _MAX).read_text()
        self.none()
        (self.first / _CPUS).write_text(str(max(os.sched_getaffinity(0))))
        (self.first / _MAX).write_text(numbers)

    def all_guests(self) -> None:
        """Writes less to the group of all guests than its containers have."""
        (self.top / _MAX).write_text('100000 1000000')

    def without_cpuset(self) -> None:
        """Switches the controller off for the containers."""
        (self.top / _CONTROL).write_text('-cpuset')

    def without_cpu(self) -> None:
        """Switches the controllers off for the containers."""
        (self.top / _CONTROL).write_text('-cpuset -cpu')

    def without_either(self) -> None:
        """Makes the tasks ordinary, and switches the controllers off."""
        for one in self.sold:
            for task in one.guest.threads():
                os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
        self.without_cpu()

    def foreign(self) -> dict[str, Any]:
        """Gives a foreign group a part of what is left of the first pCPU."""
        before = self.host.enforcer.capacity()
        group = self.top.parent / _FOREIGN
        group.mkdir()
        try:
            (group / _CPUS).write_text('0')
            (group / _MAX).write_text('50000 1000000')
            now = self.host.enforcer.capacity()
            return {
                'offered before': before.ppm, 'offered': now.ppm,
                'groups': now.others, 'held': self.held,
                'another container': self._try(hosts.claim(
                    _MORE_US, _PERIOD_US, 0))}
        finally:
            group.rmdir()

    def _try(self, claim: claims.RTClaim) -> str:
        guest = self.machine.start(1)
        try:
            self.host.enforcer.apply(guest.pid, claim)
            self.host.enforcer.release(guest.pid)
        except exception.RTError as error:
            return str(error)
        finally:
            guest.kill()
            guest.remove()
        return 'got its reservation'


CHANGES = (Trial.numbers, Trial.none, Trial.cpuset, Trial.all_guests,
           Trial.without_cpuset, Trial.without_cpu, Trial.without_either)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints two JSON objects, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--tolerance', type=float, default=0.02)
    parsed = parser.parse_args(arguments)
    trial = Trial()
    healed = True
    for change in CHANGES:
        seen = trial.changed(functools.partial(change, trial))
        healed = healed and all(seen['held'][-1])
        print(json.dumps({change.__name__: seen}), flush=True)
    found = trial.foreign()
    print(json.dumps({'foreign': found}), flush=True)
    measured = shared.shares(trial.sold, parsed.seconds)
    left = shared.end(trial.host, trial.sold)
    worst = max(abs(share - _RUNTIME_US / _PERIOD_US) for share in measured)
    print(json.dumps({
        'kernel': platform.release(), 'healed': healed,
        'shares': [round(share, 4) for share in measured],
        'worst': round(worst, 4), 'left': left}))
    return int(not healed or bool(left) or worst > parsed.tolerance)


if __name__ == '__main__':
    sys.exit(main())
