# SPDX-License-Identifier: Apache-2.0

"""The threads other than vCPUs, and the limit that libvirt gives them."""

from collections.abc import Iterator
import contextlib
import pathlib
import socket
import threading
import time
import types

from nova_rt.services import conf as rt_conf
from tests.full.kernel.kvm import domains
from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import rom
from tests.full.kernel import pinned

#: The value of [nova_rt] emulator_max_share.
_SHARE = 0.05
#: How much more the threads may use, in CPUs: each CPU takes bandwidth in
#: advance, and the measurement has ends.
_SLACK = 0.02
#: A question that QEMU answers with some hundred KiB, and so with much CPU
#: time.
_QUESTION = b'{"execute": "query-qmp-schema"}\n'
_PIECE = 1 << 20
_VHOST = 'vhost-'


def emulators(host: hosts.Host) -> None:
    """Measures busy emulator threads without a limit, and with a limit.

    libvirt sets the limit.  The vCPU gets its reservation in either case.
    """
    used = {}
    for share in (None, _SHARE):
        with _guest(host, share) as guest:
            host.apply(guest, 30_000, 100_000)
            guest.resume()
            host.found[f'limits of libvirt, {share}'] = _limits(guest, share)
            used[share] = _use(host, guest, share)
            _look_at_workers(host, guest)
    pinned.expect(used[None] > _SHARE + _SLACK,
                  f'the emulator was not busy: {used}')
    pinned.expect(used[_SHARE] <= _SHARE + _SLACK,
                  f'libvirt does not limit the emulator: {used}')


def quota(share: float | None) -> tuple[int, int] | None:
    """Returns the quota and the period that nova-compute writes, in us."""
    return rt_conf.emulator_quota(types.SimpleNamespace(
        nova_rt=types.SimpleNamespace(emulator_max_share=share)))


@contextlib.contextmanager
def _guest(host: hosts.Host, share: float | None
           ) -> Iterator[domains.Domain]:
    """Starts a paused guest of libvirt with this limit."""
    if not isinstance(host.maker, domains.Maker):
        raise pinned.Wrong('libvirt sets the limit: use --guests libvirt')
    found = host.maker.launch(rom.BUSY, quota=quota(share))
    try:
        yield found
    finally:
        found.end()


def _limits(guest: domains.Domain, share: float | None) -> dict[str, str]:
    """Checks that the limits in the kernel are the limits of the option."""
    found = {path.name: limit for path in _groups(guest)
             if (limit := _limit(path)) is not None}
    pair = quota(share)
    wanted = ' '.join(map(str, pair)) if pair else None
    for name in ('emulator', 'iothread1'):
        limit = found.get(name, '')
        pinned.expect(limit == wanted or (
            pair is None and limit.split()[0] in ('max', '-1')),
            f'{name} has the limit {limit} instead of {wanted}')
    vcpu = found.get('vcpu0', 'max').split()[0]
    pinned.expect(vcpu in ('max', '-1'), f'vcpu0 has the limit {vcpu}')
    return found


def _limit(group: pathlib.Path) -> str | None:
    """Returns quota and period of a group; None in other hierarchies."""
    if (file := group / 'cpu.max').exists():
        return file.read_text().strip()
    if (file := group / 'cpu.cfs_quota_us').exists():
        period = group / 'cpu.cfs_period_us'
        return f'{file.read_text().strip()} {period.read_text().strip()}'
    return None


def _groups(guest: guests.Guest) -> Iterator[pathlib.Path]:
    for top in guest.groups:
        yield from (path for path in top.iterdir() if path.is_dir())


def _use(host: hosts.Host, guest: domains.Domain, share: float | None
         ) -> float:
    """Measures the CPUs that the threads use while all are busy."""
    name = f'emulator, {share}'
    with _busy(guest.monitor), hosts.noise([host.cpu]):
        time.sleep(1)
        beside = set(guest.threads()).difference(guest.vcpus)
        beside = {thread for thread in beside
                  if not _name(guest, thread).startswith(guests.WORKER)}
        begin = time.monotonic()
        before = _sum(beside)
        host.check(name, {guest: 0.3})
        used = (_sum(beside) - before) / (time.monotonic() - begin) / 1e9
    host.found[f'CPUs used by other threads than the vCPU, {share}'] = round(
        used, 4)
    host.found[f'periods in which they were stopped, {share}'] = sum(
        int(line.split()[1]) for path in _groups(guest)
        if path.name == 'emulator' and (path / 'cpu.stat').exists()
        for line in (path / 'cpu.stat').read_text().splitlines()
        if line.startswith('nr_throttled'))
    return used


def _name(guest: guests.Guest, thread: int) -> str:
    return guest.threads().get(thread, '')


def _sum(threads: set[int]) -> int:
    return sum(map(guests.used_ns, threads))


@contextlib.contextmanager
def _busy(monitor: pathlib.Path) -> Iterator[None]:
    """Asks QEMU more questions than QEMU can answer, all the time."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(monitor))
        line.sendall(b'{"execute": "qmp_capabilities"}\n')
        thread = threading.Thread(target=_ask, args=(line, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            line.shutdown(socket.SHUT_RDWR)
            thread.join()


def _ask(line: socket.socket, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not over.is_set():
            line.sendall(_QUESTION)
            line.recv(_PIECE)


def _look_at_workers(host: hosts.Host, guest: domains.Domain) -> None:
    """Checks that vhost's threads are in the limited group, and KVM's not."""
    found = {}
    for thread, name in guest.threads().items():
        text = pathlib.Path(f'/proc/{thread}/cgroup').read_text()
        group = {line.rpartition('/')[2] for line in text.splitlines()}
        if name.startswith((_VHOST, guests.WORKER)):
            found[name.replace(str(guest.pid), 'PID')] = sorted(group)
            wanted = 'emulator' if name.startswith(_VHOST) else 'vcpu0'
            pinned.expect(wanted in group, f'{name} is in {group}')
    host.found['groups of the workers'] = found
