# SPDX-License-Identifier: Apache-2.0

"""The costs of KVM in a reservation that an emulated CPU hides.

The costs are judged only with a deterministic clock, because without it they
mean nothing.
"""

from collections.abc import Callable, Iterator
import contextlib
import pathlib
import subprocess
import sys
import time

from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import plain
from tests.full.kernel.kvm import rom
from tests.full.kernel import pinned

_HALT_POLL = pathlib.Path('/sys/module/kvm/parameters/halt_poll_ns')
#: Wakes 5,000 times a second, and needs more CPU time for this than it has
#: reserved.
_SLEEPER = rom.Work('TIMER', 200_000, 2_500)
_POLLS_NS = (0, 200_000)
#: Polling slows that guest down by this much if its pCPU is idle.
_LOST = 2
_QUESTIONS = 40
_BOOT_SECONDS = 3600
#: The process name of the guest's init.
_UP = b'nova-rt guest: 1 vCPUs busy'
_GAP_SECONDS = 0.037
_TICK_MS = 4.0
_MS = 1000


def halt_polling(host: hosts.Host) -> None:
    """A vCPU that polls before it sleeps uses its reservation to poll."""
    found = {}
    for polls in _POLLS_NS:
        with _halt_poll(polls), host.guest(_SLEEPER) as guest:
            guest.resume()
            found[f'{polls}, no reservation'] = host.rate(
                guest, 'halt_exits')
            host.apply(guest, 20_000, 100_000)
            found[str(polls)] = host.rate(guest, 'halt_exits')
            with host.noise():
                found[f'{polls}, pCPU is busy'] = host.rate(
                    guest, 'halt_exits')
    host.found['wakes in a second by halt_poll_ns'] = found
    if host.deterministic:
        pinned.expect(found['0'] > _LOST * found['200000'],
                      f'halt polling costs nothing: {found}')


@contextlib.contextmanager
def _halt_poll(nanoseconds: int) -> Iterator[None]:
    before = _HALT_POLL.read_text()
    _HALT_POLL.write_text(str(nanoseconds))
    try:
        yield
    finally:
        _HALT_POLL.write_text(before)


def big_lock(host: hosts.Host) -> None:
    """Measures how soon QEMU answers while a vCPU is throttled.

    A throttled vCPU inside of QEMU keeps QEMU's lock for the rest of the
    period.  This may happen at most twice until the answer.
    """
    found = {}
    for work, runtime, period in (
            (rom.BUSY, 0, 1), (rom.DEVICE, 0, 1),
            (rom.BUSY, 90_000, 100_000), (rom.KERNEL, 30_000, 100_000),
            (rom.DEVICE, 30_000, 100_000), (rom.DEVICE, 3_000, 10_000)):
        with host.guest(work) as guest:
            if runtime:
                host.apply(guest, runtime, period)
            guest.resume()
            delays = _answers(guest)
        name = f'{runtime}/{period}' if runtime else 'no reservation'
        found[f'{work.name}, {name}'] = hosts.summary(delays)
        longest = 2 * ((period - runtime) / _MS + _TICK_MS)
        if host.deterministic and runtime:
            pinned.expect(max(delays) < longest + _TICK_MS,
                          f'{work.name}, {name}: an answer took '
                          f'{max(delays):.1f} ms')
    host.found['ms until QEMU answers'] = found


def _answers(guest: guests.Guest) -> list[float]:
    """Returns the ms until query-status is answered, in different phases."""
    if not isinstance(guest, plain.Plain):
        raise pinned.Wrong('libvirt keeps the monitor for itself')
    found = []
    for _ in range(_QUESTIONS):
        time.sleep(_GAP_SECONDS)
        begin = time.monotonic()
        guest.monitor.ask('query-status')
        found.append((time.monotonic() - begin) * _MS)
    return found


def workers(host: hosts.Host) -> None:
    """Measures the CPU time of threads that serve a guest without a charge."""
    found = {}
    for work in (rom.BUSY, rom.KERNEL, rom.DEVICE):
        with host.noise(), host.guest(work) as guest:
            host.apply(guest, 30_000, 100_000)
            guest.resume()
            names = guest.threads()
            others = [each for each in names if each not in guest.vcpus]
            found[work.name] = {
                names[thread].replace(str(guest.pid), 'PID'): used
                for thread, used in zip(others, host.measure(others),
                                        strict=True)}
    host.found['CPU time of other threads'] = found


def no_reset_on_fork(host: hosts.Host) -> None:
    """Checks that a guest runs only if the enforcer sets the flag.

    If KVM's worker is a thread of QEMU, the first run of a vCPU makes the
    worker, which SCHED_DEADLINE forbids.  In other kernels, the worker is a
    thread of the kernel.
    """
    with host.guest(rom.DEVICE) as guest:
        subprocess.run(
            ['chrt', '--deadline', '--sched-runtime', '30000000',
             '--sched-deadline', '100000000', '--sched-period', '100000000',
             '--pid', '0', str(guest.vcpus[0])], check=True)
        guest.resume()
        exits = host.rate(guest, 'io_exits')
        share, = host.measure(guest.vcpus[:1])
        host.found['without SCHED_RESET_ON_FORK'] = {
            'exits in a second': exits, 'share': share}
        host.enforcer.release(guest.pid)
    with host.guest(rom.DEVICE) as guest:
        guest.resume()
        host.rate(guest, 'io_exits')
        is_thread = any(name.startswith(guests.WORKER)
                        for name in guest.own_threads().values())
    pinned.expect(not (is_thread and exits),
                  'a guest without SCHED_RESET_ON_FORK runs')


def boot(host: hosts.Host) -> None:
    """Linux boots in a guest with 0.3 of a pCPU, and gets 0.3 when it is up.

    Busy tasks run beside each guest with a reservation; a guest without a
    reservation has the whole pCPU.
    """
    found = host.found['seconds until Linux is up'] = {}
    for runtime in (30_000, 0):
        with host.boot() as (guest, console), contextlib.ExitStack() as busy:
            if runtime:
                host.apply(guest, runtime, 100_000)
                busy.enter_context(host.noise())
            guest.resume()
            found[f'{runtime}/100000'] = _until_up(console)
            print(found, file=sys.stderr, flush=True)
            pinned.expect(guest.is_alive, 'the guest has ended')
            if runtime:
                host.check('Linux is up', {guest: runtime / 100_000})


def _until_up(console: pathlib.Path) -> float:
    begin = time.monotonic()
    while not (console.exists() and _UP in console.read_bytes()):
        time.sleep(1)
        pinned.expect(time.monotonic() - begin < _BOOT_SECONDS,
                      'Linux in a guest does not come up')
    return round(time.monotonic() - begin, 1)


CASES: dict[str, Callable[[hosts.Host], None]] = {
    case.__name__: case for case in (
        halt_polling, big_lock, workers, no_reset_on_fork, boot)}
