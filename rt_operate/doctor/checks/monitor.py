# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt monitor`` can see here, and why not the rest.

None of it stands between the host and reservations, so all of it is OK.
"""

from collections.abc import Iterator
import re

from rt_monitor import look
from rt_monitor import objects
from rt_monitor import sched
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_TYPES = '/sys/kernel/btf/vmlinux'
_ENERGY = '/sys/class/powercap'
_COUNTERS = '/sys/bus/event_source/devices'
#: What the counters of CPUs are called on x86 and ARM.
_CPU = re.compile(r'cpu(_core|_atom)?|armv\d\w*')
#: The first Linux with tcx.
_PACKETS = (6, 6)
#: The first Linux whose programs keep something for each task.
_TASKS = (5, 13)


def scheduler(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'monitor.sched'
    reason = _why_not(view)
    if reason:
        yield findings.ok(
            name, f'nova-rt monitor cannot watch servers: {reason}.')
    else:
        yield findings.ok(
            name, 'nova-rt monitor can watch servers at the scheduler, if '
            'the kernel lets it.')


def _why_not(view: doctor_view.View) -> str:
    if not objects.path(sched.Scheduler.name).exists():
        return look.BUILD
    try:
        view.host.inode(_TYPES)
    except OSError:
        return (f'the kernel has no {_TYPES} (CONFIG_DEBUG_INFO_BTF), by '
                f'which its programs find what they read')
    if not _is_from(view, _TASKS):
        return 'that takes Linux {}.{}'.format(*_TASKS)
    return ''


def _is_from(view: doctor_view.View, first: tuple[int, int]) -> bool:
    """Whether the kernel is this Linux, or a later one."""
    release = re.match(r'(\d+)\.(\d+)', view.host.release)
    return release is not None and tuple(map(int, release.groups())) >= first


def budgets(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = view.detection.name
    if name is None or _why_not(view):
        return
    yield findings.ok('monitor.budgets', (
        f'nova-rt monitor can tell when budgets of {name} run out, if its '
        f'programs find them in this kernel.'))


def packets(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Virtual machines have their sockets in the guest, so packets tell."""
    if _why_not(view):
        return
    known = _is_from(view, _PACKETS)
    yield findings.ok('monitor.packets', (
        'nova-rt monitor can see transactions of virtual machines, and '
        'datagrams.' if known else
        'nova-rt monitor cannot see transactions of virtual machines, nor '
        'datagrams: that takes Linux {}.{} (tcx).'.format(*_PACKETS)))


def counters(view: doctor_view.View) -> Iterator[findings.Finding]:
    try:
        found = [name for name in view.host.names(_COUNTERS)
                 if _CPU.fullmatch(name)]
    except OSError:
        found = []
    yield findings.ok('monitor.counters', (
        'The CPUs count cycles and cache misses.' if found else
        'The CPUs show the kernel no counters of cycles and cache misses, '
        'so there are none of servers.'))


def power(view: doctor_view.View) -> Iterator[findings.Finding]:
    try:
        meters = [each for each in view.host.names(_ENERGY) if ':' in each]
    except OSError:
        meters = []
    yield findings.ok('monitor.power', (
        f'The host has {findings.count(len(meters), "meter")} of energy '
        f'(RAPL).' if meters else
        'The host has no meter of energy (RAPL), so there is no power of '
        'servers.'))


CHECKS: dict[str, doctor_view.Check] = {
    'monitor.sched': scheduler,
    'monitor.budgets': budgets,
    'monitor.packets': packets,
    'monitor.counters': counters,
    'monitor.power': power,
}
