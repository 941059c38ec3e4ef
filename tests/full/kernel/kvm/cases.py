# SPDX-License-Identifier: Apache-2.0

"""Tests the enforcer's promises to guests by the shares that guests get."""

from collections.abc import Callable
import logging
import os

from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import reconcile
from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import rom
from tests.full.kernel import pinned

_AUDITS = 2


def life(host: hosts.Host) -> None:
    """Changes, releases and reserves again while the guest is busy."""
    with host.noise(), host.guest() as guest:
        host.apply(guest, 20_000, 100_000)
        guest.resume()
        host.check('start', {guest: 0.2})
        for runtime, period in ((30_000, 100_000), (60_000, 100_000),
                                (6_000, 10_000), (30_000, 100_000)):
            held = host.apply(guest, runtime, period)
            host.check(f'resize to {runtime}/{period}',
                       {guest: runtime / period})
        _audit(host, guest, held)
        look_at_threads(host, guest)
        for runtime in (50_000, 30_000):
            host.enforcer.release(guest.pid)
            pinned.expect(not host.enforcer.bandwidth(guest.pid),
                          'released, and it holds something')
            host.apply(guest, runtime, 100_000)
            host.check(f'release, then {runtime}/100000',
                       {guest: runtime / 100_000})


def _audit(host: hosts.Host, guest: guests.Guest, held: claims.RTClaim
           ) -> None:
    """Checks that audits find nothing to do, and log nothing."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = (  # type: ignore[method-assign]
        lambda record: said.append(record.getMessage()))
    logger = logging.getLogger('nova_rt')
    logger.addHandler(handler)
    try:
        reconciler = reconcile.Reconciler(host.enforcer)
        for _ in range(_AUDITS):
            reconciler.run([reconcile.RunningGuest('guest', guest.pid,
                                                   (held,))], [guest.pid])
    finally:
        logger.removeHandler(handler)
    host.found['warnings of the audits'] = said
    pinned.expect(not said, f'the audits say {said}')


def look_at_threads(host: hosts.Host, guest: guests.Guest) -> None:
    """Checks that the vCPU is on its pCPU, and other threads are not."""
    found = {thread: (name, sorted(guests.affinity(thread)))
             for thread, name in guest.threads().items()}
    host.found['threads'] = sorted(
        f'{name.replace(str(guest.pid), "PID")} on {cpus}'
        for name, cpus in found.values())
    for thread, (name, cpus) in found.items():
        if thread in guest.vcpus:
            pinned.expect(cpus == [host.cpu], f'{name} runs on {cpus}')
        elif host.near and cpus and not name.startswith(guests.WORKER):
            pinned.expect(tuple(cpus) == host.near, f'{name} runs on {cpus}')


def two_vcpus(host: hosts.Host) -> None:
    """Puts each vCPU on its pCPU; with one pCPU, all vCPUs share it.

    The vCPUs then take turns, as two guests do.
    """
    cpus = (*host.cpus, *host.cpus)[-2:]
    with host.noise(), host.guest(vcpus=2) as guest:
        host.apply(guest, 6_000, 20_000, *cpus)
        guest.resume()
        host.check('two vCPUs', {guest: 0.3})
        host.apply(guest, 8_000, 20_000, *cpus)
        host.check('two vCPUs, resized', {guest: 0.4})


def masked(host: hosts.Host) -> None:
    """Reserves for three of four vCPUs, as with the mask ^0."""
    cpus = (*host.cpus, *host.cpus, *host.cpus)[-3:]
    with host.noise(), host.guest(vcpus=4) as guest:
        held = host.apply(guest, 4_000, 20_000, *cpus, unreserved=(0,))
        guest.resume()
        host.check('three of four vCPUs', {guest: 0.2}, unreserved=(0,))
        first = guest.vcpus[0]
        own, = host.measure([first])
        host.found['share of the vCPU without a reservation'] = own
        host.found['its CPUs'] = sorted(guests.affinity(first))
        pinned.expect(os.sched_getscheduler(first) == os.SCHED_OTHER,
                      'the first vCPU is not ordinary')
        pinned.expect(own > 0, 'the first vCPU does not run')
        pinned.expect(not host.spare or guests.affinity(first) <= {
            *host.spare}, 'the first vCPU is on no spare CPU')
        _audit(host, guest, held)
        host.enforcer.release(guest.pid)
        pinned.expect(not host.enforcer.bandwidth(guest.pid),
                      'released, and it holds something')


def two_guests(host: hosts.Host) -> None:
    """Puts two guests on one pCPU, with as much of it as the kernel gives.

    Their turns in a period change.  If the period is long, the ends of the
    measurement cut off too much.
    """
    ppm = min(450_000, host.enforcer.capacity().ppm // 2)
    with host.noise(), host.guest() as first, host.guest() as second:
        for guest in (first, second):
            host.apply(guest, ppm // 50, 20_000)
            guest.resume()
        wanted = ppm // 50 / 20_000
        host.check('two guests on one pCPU', {first: wanted, second: wanted})


def exits(host: hosts.Host) -> None:
    """A guest that often leaves guest mode gets the same, in KVM and QEMU."""
    for work, counter in ((rom.KERNEL, 'exits'), (rom.DEVICE, 'io_exits')):
        with host.noise(), host.guest(work) as guest:
            host.apply(guest, 30_000, 100_000)
            guest.resume()
            host.check(f'exits, {work.name}', {guest: 0.3})
            rate = host.rate(guest, counter)
            host.found[f'{counter} in a second, {work.name}'] = rate
            pinned.expect(rate > 0, f'{work.name}: the guest does not run')


def reset_on_fork(host: hosts.Host) -> None:
    """The enforcer sets the flag without which KVM's worker cannot start."""
    with host.guest(rom.DEVICE) as guest:
        host.apply(guest, 30_000, 100_000)
        policy = os.sched_getscheduler(guest.vcpus[0])
        pinned.expect(bool(policy & os.SCHED_RESET_ON_FORK),
                      'a vCPU would hand its reservation on to its children')
        guest.resume()
        pinned.expect(host.rate(guest, 'io_exits') > 0,
                      'the guest does not run')


CASES: dict[str, Callable[[hosts.Host], None]] = {
    case.__name__: case for case in (life, two_vcpus, masked, two_guests)}
#: KVM counts the events that these guests cause.
KVM_CASES: dict[str, Callable[[hosts.Host], None]] = {
    case.__name__: case for case in (exits, reset_on_fork)}
