# SPDX-License-Identifier: Apache-2.0

"""Takes budgets at the moments at which kernels have died of it.

Each round starts a busy container, gives it a budget, changes the budget, and
takes the budget while a timer of the kernel may still be pending.  If the
kernel has HRTICK, it is on in every second round: shorter runtimes are allowed
then.  As root, on a host that may die::

    python -m tests.full.kernel.releases --rounds 100
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import functools
import json
import logging
import os
import pathlib
import sys
import time

from nova_rt.machine.host import ticks
from nova_rt.rules import exception
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import summary

_CPU = 0
_BUSY = (1, guests.BUSY)
_PATIENCE_SECONDS = 30


class Wrong(Exception):
    """A sentence about a state that must not occur."""


class Round:
    """One guest and the nova-compute that serves it.

    :ivar host: the host of a process that knows its own changes
    """

    def __init__(self, machine: guests.Guests, tasks: int, program: str
                 ) -> None:
        self.host = hosts.Host.find()
        self.guest = machine.start(tasks, program)
        self._top = machine.tops[0]

    def apply(self, runtime_ms: float, period_ms: float) -> None:
        """Gives a budget, in ms.

        :raises KernelError: it is refused
        """
        self.host.enforcer.apply(self.guest.pid, hosts.claim(
            round(runtime_ms * 1000), round(period_ms * 1000), _CPU))

    def refuses(self, runtime_ms: float, period_ms: float) -> None:
        """Checks that such a budget is refused."""
        try:
            self.apply(runtime_ms, period_ms)
        except exception.KernelError:
            return
        raise Wrong(f'{runtime_ms} ms is granted, which is dangerous here')

    def restart(self) -> None:
        """Forgets the budgets that the groups have had."""
        self.host = hosts.Host.find()

    def release(self) -> None:
        self.host.enforcer.release(self.guest.pid)

    def end(self) -> None:
        """Checks that the kernel holds no budget once all groups are gone."""
        self.guest.kill()
        self.guest.remove()
        self.host.enforcer.settle()
        held = self.host.interface.read('/machine')
        if held is not None:
            raise Wrong(f'/machine holds {held}')
        self._outlast()

    def _outlast(self) -> None:
        """Checks that no group stays because a task of it never ends."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while guests.dying(self._top):
            if time.monotonic() > end:
                raise Wrong('a task of the group never ends')
            time.sleep(.01)


def below_tick(one: Round) -> None:
    """A runtime far below a tick: one overrun is a debt of many periods."""
    if one.host.interface.least_runtime_us() > 200:
        return one.refuses(.2, 20)
    one.apply(.2, 20)
    time.sleep(.5)
    return one.release()


def shorter(one: Round) -> None:
    """The timer is set to the end of the earlier, longer period."""
    one.apply(100, 1000)
    time.sleep(1.2)
    one.apply(5, 50)
    one.release()


def thrice(one: Round) -> None:
    """Three changes in a row, of which a kernel died in a random run."""
    for runtime, period in ((60, 200), (25, 500), (10, 200)):
        one.apply(runtime, period)
        time.sleep(.3)
    one.release()


def forgotten(one: Round) -> None:
    """Another process takes a budget right after its period was shortened."""
    one.apply(100, 1000)
    time.sleep(1.2)
    one.apply(5, 50)
    one.restart()
    one.release()


def orphan(one: Round) -> None:
    """The guest is killed while it is throttled, and its group stays."""
    one.apply(100, 1000)
    time.sleep(.25)
    one.guest.kill()
    one.host.enforcer.release_orphans(())


def ending(one: Round) -> None:
    """Some throttled tasks are about to end when their budget is taken."""
    one.apply(5, 500)
    time.sleep(1.2)
    one.release()


CASES: dict[str, Callable[[Round], None]] = {
    'below a tick': below_tick, 'shorter': shorter, 'thrice': thrice,
    'forgotten': forgotten, 'orphan': orphan, 'ending': ending}
#: The program in the guests of a case, if it is not one busy task.
_PROGRAMS = {'ending': (4, guests.ENDING)}


@contextlib.contextmanager
def hrtick(on: bool) -> Iterator[None]:
    """The features of the scheduler, which are restored afterwards."""
    path = next((pathlib.Path(name) for name in ticks.FEATURES
                 if os.path.exists(name)), None)
    names = ('HRTICK', 'HRTICK_DL')
    before = path.read_text().split() if path else []
    changed = [name for name in names
               if (f'NO_{name}' if on else name) in before]
    try:
        for name in changed:
            assert path is not None
            path.write_text(name if on else f'NO_{name}')
        yield
    finally:
        for name in changed:
            assert path is not None
            path.write_text(f'NO_{name}' if on else name)


def campaign(rounds: int, cases: Sequence[str]) -> dict[str, object]:
    """Returns the report: the rounds of the *cases*, and what was wrong."""
    machine = guests.Guests()
    wrong: list[str] = []
    start = time.monotonic()
    for number in range(rounds):
        for name in cases:
            print(f'{time.monotonic():.3f} {number} {name}', file=sys.stderr,
                  flush=True)
            with hrtick(bool(number % 2)):
                one = Round(machine, *_PROGRAMS.get(name, _BUSY))
                for act in (functools.partial(CASES[name], one), one.end):
                    try:
                        act()
                    except (exception.KernelError, Wrong) as error:
                        wrong.append(f'{name}: {error}')
                        print(wrong[-1], file=sys.stderr, flush=True)
    machine.close()
    return {'kernel': os.uname().release, 'rounds': rounds,
            'cases': list(cases), 'wrong': wrong,
            'sentence': f'{rounds} rounds of {len(cases)} cases, '
                        f'{len(wrong)} wrong',
            'seconds': round(time.monotonic() - start, 1),
            'complaints': summary.complaints(summary.kernel_log())}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--case', choices=CASES, action='append',
                        help='leave the others out')
    args = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    report = campaign(args.rounds, args.case or list(CASES))
    print(json.dumps(report))
    return bool(report['wrong'])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
