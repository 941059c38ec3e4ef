# SPDX-License-Identifier: Apache-2.0

"""Shows what ``nova-rt top`` can see on this host, and what it cannot.

Reservations do not depend on the monitor, so every finding is OK.
"""

from collections.abc import Iterator
import re

from nova_rt.rules import words
from rt_monitor import libbpf
from rt_monitor import objects
from rt_monitor import sched
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_TYPES = '/sys/kernel/btf/vmlinux'
_ENERGY = '/sys/class/powercap'
_COUNTERS = '/sys/bus/event_source/devices'
#: The names of the counters of CPUs on x86 and ARM.
_CPU = re.compile(r'cpu(_core|_atom)?|armv\d\w*')
#: The first Linux with tcx.
_PACKETS = (6, 6)
#: The first Linux with storage for each task (BPF_MAP_TYPE_TASK_STORAGE) in
#: tracing programs.
_TASKS = (5, 13)


def scheduler(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether the monitor can watch how servers are scheduled."""
    name = 'monitor.sched'
    reason = _why_not(view)
    if reason:
        yield findings.ok(
            name, f'nova-rt top cannot watch servers: {reason}.')
    else:
        yield findings.ok(
            name, 'nova-rt top can watch how the kernel schedules '
            'servers, if the kernel permits this.')


def _why_not(view: doctor_view.View) -> str:
    if not objects.path(sched.Scheduler.name).exists():
        return libbpf.BUILD
    try:
        view.host.inode(_TYPES)
    except OSError:
        return (f'the kernel has no {_TYPES} (CONFIG_DEBUG_INFO_BTF), which '
                f'the programs of the monitor need to find their data')
    if not _is_from(view, _TASKS):
        return 'the monitor needs Linux {}.{} or later'.format(*_TASKS)
    return ''


def _is_from(view: doctor_view.View, first: tuple[int, int]) -> bool:
    """Tells whether the kernel is this version of Linux or a later one."""
    release = re.match(r'(\d+)\.(\d+)', view.host.release)
    return release is not None and tuple(map(int, release.groups())) >= first


def budgets(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether the monitor can see budgets run out."""
    name = view.detection.name
    if name is None or _why_not(view):
        return
    yield findings.ok('monitor.budgets', (
        f'nova-rt top can see when budgets of {name} run out, if its '
        f'eBPF programs find the data of these budgets in the types (BTF) of '
        f'this kernel.'))


def packets(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether transactions of virtual machines can be seen.

    The sockets of a virtual machine are inside the guest, so the monitor has
    to read packets.
    """
    if _why_not(view):
        return
    has_tcx = _is_from(view, _PACKETS)
    yield findings.ok('monitor.packets', (
        'nova-rt top can see transactions of virtual machines, and '
        'datagrams.' if has_tcx else
        'nova-rt top cannot see transactions of virtual machines or '
        'datagrams: this needs Linux {}.{} or later (tcx).'.format(
            *_PACKETS)))


def counters(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether the CPUs count cycles and cache misses."""
    try:
        names = [name for name in view.host.names(_COUNTERS)
                 if _CPU.fullmatch(name)]
    except OSError:
        names = []
    yield findings.ok('monitor.counters', (
        'The CPUs count cycles and cache misses.' if names else
        'The kernel has no counters of cycles and cache misses of the CPUs, '
        'so the monitor does not show them for servers.'))


def power(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether the host has a meter of energy."""
    try:
        meters = [name for name in view.host.names(_ENERGY) if ':' in name]
    except OSError:
        meters = []
    yield findings.ok('monitor.power', (
        f'The host has {words.count(len(meters), "energy meter")} '
        f'(RAPL).' if meters else
        'The host has no energy meter (RAPL), so the monitor does not show '
        'the power of servers.'))


CHECKS: dict[str, doctor_view.Check] = {
    'monitor.sched': scheduler,
    'monitor.budgets': budgets,
    'monitor.packets': packets,
    'monitor.counters': counters,
    'monitor.power': power,
}
