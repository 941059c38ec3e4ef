# SPDX-License-Identifier: Apache-2.0

"""The ways to give a container its CPUs, and its neighbours."""

from collections.abc import Callable, Iterator
import contextlib
import os
import pathlib
import subprocess
import sys

from nova_rt.rules import reservation as rt_reservation
from rt_models.colocation import group as rt_group

#: Each way has nine tenths of a CPU.
RESERVATION = rt_reservation.Reservation(90_000, 100_000)
_CPUS = tuple(sorted(os.sched_getaffinity(0)))
#: Not CPU 0, which has most interrupts.
_PINNED = _CPUS[-1:]
#: The number of neighbours, with a busy process on each CPU.
NEIGHBOURS = 2
_BUSY = 'while True: pass'

Way = Callable[[], contextlib.AbstractContextManager[rt_group.Group]]


@contextlib.contextmanager
def vanilla() -> Iterator[rt_group.Group]:
    """Gives the group a quota on all CPUs."""
    with rt_group.up(_name('work'), _CPUS, None) as group:
        _limit(group.trees[0])
        yield group


@contextlib.contextmanager
def pinned() -> Iterator[rt_group.Group]:
    """Gives the group one CPU that others use, too, and no quota."""
    with rt_group.up(_name('work'), _PINNED, None) as group:
        yield group


@contextlib.contextmanager
def reserved() -> Iterator[rt_group.Group]:
    """Gives the group a reservation on one CPU, as nova-compute does."""
    with rt_group.up(_name('work'), _PINNED, RESERVATION) as group:
        yield group


WAYS: dict[str, Way] = {'vanilla': vanilla, 'pinned': pinned,
                        'reserved': reserved}


@contextlib.contextmanager
def neighbours() -> Iterator[None]:
    """Runs NEIGHBOURS that are busy until the end of the block."""
    with contextlib.ExitStack() as stack:
        for number in range(NEIGHBOURS):
            group = stack.enter_context(rt_group.up(
                _name(f'busy-{number}'), _CPUS, None))
            for _ in _CPUS:
                subprocess.Popen(
                    group.command([sys.executable, '-S', '-c', _BUSY]),
                    stdin=subprocess.DEVNULL, start_new_session=True)
        yield


def _name(part: str) -> str:
    return f'nova-rt-pinning-{os.getpid()}-{part}'


def _limit(path: pathlib.Path) -> None:
    runtime, period = RESERVATION.runtime_us, RESERVATION.period_us
    if (path / 'cpu.max').exists():
        (path / 'cpu.max').write_text(f'{runtime} {period}')
    else:
        (path / 'cpu.cfs_period_us').write_text(str(period))
        (path / 'cpu.cfs_quota_us').write_text(str(runtime))
