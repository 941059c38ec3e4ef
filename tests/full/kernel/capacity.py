# SPDX-License-Identifier: Apache-2.0

"""One capacity: what doctor, its summary and nova-compute say of a host.

Root domains are rebuilt, CPUs taken away, limits changed and SCHED_DEADLINE
threads of others made in between, beside a vCPU with a reservation.  It wants
two CPUs and no clock of its own, as root::

    tools/lab.sh debian:13 --cpus 2 -- python -m tests.full.kernel.capacity
"""

import argparse
from collections.abc import Callable, Iterator
import contextlib
import io
import json
import pathlib
import platform
import sys
import time
import traceback
from typing import Any

from nova import conf as nova_conf

from nova_rt.rules import exception
from nova_rt.services.compute import capacity
from nova_rt.services import conf as rt_conf
from rt_operate.commands import main as nova_rt_command
from tests.full.kernel import foreign
from tests.full.kernel import pinned

_READINGS = 20
_CGROUP = pathlib.Path('/sys/fs/cgroup')
_REBUILD = _CGROUP / 'nova-rt-rebuild'
_SYSCTL = pathlib.Path('/proc/sys/kernel/sched_rt_runtime_us')
_ONLINE = '/sys/devices/system/cpu/cpu{}/online'
_SHARE = 0.3
_PATIENCE_SECONDS = 30
_POLL_SECONDS = 0.05


def doctor() -> tuple[int | None, str]:
    """Returns (the number of the summary, the text of the finding)."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        nova_rt_command.main(['doctor', '-f', 'json'])
    found = json.loads(output.getvalue())
    return found['capacity_ppm'], text_of(found, 'capacity.offered')


def text_of(report: dict[str, Any], name: str) -> str:
    return next((one['text'] for one in report['findings']
                 if one['id'] == name), '')


def readings(host: pinned.Host) -> set[int]:
    """Reads a host's offer from each source; all must say one number."""
    summary, text = doctor()
    conf = nova_conf.CONF
    if 'nova_rt' not in conf:
        rt_conf.register_opts(conf)
    measured = capacity.measure(conf, host.enforcer, host.cpus, '')
    found = {summary or 0, measured.empty.cap,
             min(host.enforcer.capacity().ppm, rt_conf.ppm(
                 conf.nova_rt.cpu_cap))}
    pinned.expect(f'({summary} ppm)' in text, f'{summary}, but: {text}')
    return found


@contextlib.contextmanager
def _partition(host: pinned.Host) -> Iterator[None]:
    """Root domains are rebuilt when a partition comes and when it goes.

    With cgroup v1 the domains are those of CPUs that go and come.
    """
    if not (_CGROUP / 'cgroup.subtree_control').exists():
        with _offline(host.cpu):
            yield
        return
    (_CGROUP / 'cgroup.subtree_control').write_text('+cpuset')
    _REBUILD.mkdir()
    try:
        (_REBUILD / 'cpuset.cpus').write_text(str(host.cpu))
        (_REBUILD / 'cpuset.cpus.partition').write_text('root')
        yield
    finally:
        (_REBUILD / 'cpuset.cpus.partition').write_text('member')
        _REBUILD.rmdir()


@contextlib.contextmanager
def _offline(cpu: int) -> Iterator[None]:
    path = pathlib.Path(_ONLINE.format(cpu))
    path.write_text('0')
    try:
        yield
    finally:
        path.write_text('1')


@contextlib.contextmanager
def _limit(runtime_us: int) -> Iterator[None]:
    before = _SYSCTL.read_text()
    _SYSCTL.write_text(str(runtime_us))
    try:
        yield
    finally:
        _SYSCTL.write_text(before)


def steady(host: pinned.Host) -> None:
    """Nobody changes anything that counts, and all sources agree."""
    found: list[int] = []
    for number in range(_READINGS):
        found += readings(host)
        host.found['readings'] = ' '.join(map(str, found))
        with _partition(host):
            pass
        if number == _READINGS // 2:
            with _offline(host.cpu):
                pass
    pinned.expect(found == found[:1] * _READINGS, f'{found}')


def limit(host: pinned.Host) -> None:
    """sched_rt_runtime_us changes beside a reservation, which is kept."""
    before = readings(host)
    with host.noise(), host.guest() as guest:
        held = pinned.claim(30_000, 100_000, host.cpu)
        host.enforcer.apply(guest.pid, held)
        for runtime, low, high in ((500_000, 350_000, 500_001),
                                   (-1, 0, 0)):
            with _limit(runtime):
                told = _told(host)
                host.found[f'sched_rt_runtime_us {runtime}'] = told
                pinned.expect(host.enforcer.holds(guest.pid, held), 'lost')
                if runtime < 0:
                    pinned.expect('set it to 950000' in str(told), str(told))
                else:
                    pinned.expect(low <= int(told) <= high, str(told))
        pinned.expect(_refused(1), 'it went below what is held')
        host.check('after the limit changed', guest, _SHARE)
    pinned.expect(before == readings(host), f'{before}, {readings(host)}')


def _refused(runtime_us: int) -> bool:
    try:
        with _limit(runtime_us):
            return False
    except OSError:
        return True


def offline(host: pinned.Host) -> None:
    """The CPU of a busy vCPU goes and comes: reported, repaired, not lost."""
    before = readings(host)
    with host.noise(), host.guest() as guest:
        held = pinned.claim(30_000, 100_000, host.cpu)
        host.enforcer.apply(guest.pid, held)
        with _offline(host.cpu):
            pinned.expect(not host.enforcer.holds(guest.pid, held),
                          'it is said to be on a CPU that is not there')
            try:
                host.enforcer.apply(guest.pid, held)
            except exception.KernelError as error:
                host.found['offline'] = str(error)
            else:
                raise pinned.Wrong('applied on a CPU that is not there')
        for _ in range(2):  # two audits
            if not host.enforcer.holds(guest.pid, held):
                host.enforcer.apply(guest.pid, held)
        pinned.expect(host.enforcer.holds(guest.pid, held), 'not repaired')
        host.check('after its CPU was offline', guest, _SHARE)
    pinned.expect(before == readings(host), f'{before}, {readings(host)}')


def others(host: pinned.Host) -> None:
    """Foreign threads cost bandwidth; one that reclaims ends the offer."""
    before = readings(host)
    with foreign.thread(host.cpus, 100_000, 1_000_000):
        now = readings(host)
        pinned.expect(len(now) == 1 and 99_990 < before.copy().pop()
                      - now.copy().pop() < 100_010, f'{before}, {now}')
        pinned.expect('subtracted from each pCPU'
                      in str(host.enforcer.warnings()), 'no warning')
    _eventually(lambda: readings(host) == before, 'it does not come back')
    with foreign.thread(host.cpus, 100_000, 1_000_000, reclaim=True):
        summary, text = doctor()
        pinned.expect(summary is None and 'SCHED_FLAG_RECLAIM' in text, text)
        told = str(_told(host))
        pinned.expect('SCHED_FLAG_RECLAIM' in told, told)
        pinned.expect('less than they have' in str(host.enforcer.warnings()),
                      'no warning')
        host.found['reclaim'] = text
    _eventually(lambda: readings(host) == before, 'it does not come back')


def _told(host: pinned.Host) -> int | str:
    """Returns the offer, or the reason why there is none."""
    try:
        return host.enforcer.capacity().ppm
    except exception.KernelError as error:
        return str(error)


def _eventually(holds: Callable[[], bool], text: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        pinned.expect(time.monotonic() < end, text)
        time.sleep(_POLL_SECONDS)


CASES: dict[str, Callable[[pinned.Host], None]] = {
    case.__name__: case for case in (steady, limit, others, offline)}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='python -m tests.full.kernel.capacity')
    parser.add_argument('--tolerance', type=float, default=0.05,
                        help='of a share (default: %(default)s of a CPU)')
    parser.add_argument('cases', nargs='*', choices=[[], *CASES], default=[])
    args = parser.parse_args()
    host = pinned.Host(args.tolerance)
    failed = {}
    for name in args.cases or CASES:
        try:
            CASES[name](host)
        except Exception as error:
            traceback.print_exc()
            failed[name] = f'{type(error).__name__}: {error}'
    host.machines.close()
    json.dump({'release': platform.release(), 'cpus': len(host.cpus),
               'found': host.found, 'failed': failed}, sys.stdout, indent=1)
    print()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
