# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt monitor`` can see here, and why not the rest.

None of it stands between the host and reservations, so all of it is OK.
"""

from collections.abc import Iterator

from nova_rt.doctor import findings
from nova_rt.doctor import view as doctor_view
from nova_rt.kernel import deadline
from nova_rt.kernel import rt_group_sched
from nova_rt.monitor import look
from nova_rt.monitor import objects
from nova_rt.monitor import sched

_TYPES = '/sys/kernel/btf/vmlinux'
_ENERGY = '/sys/class/powercap'
#: Whose budgets the programs know.
_BUDGETS = (rt_group_sched.RtGroupSched.name, deadline.NAME)


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
    return ''


def budgets(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = view.detection.name
    if name is None or _why_not(view):
        return
    known = name in _BUDGETS
    yield findings.ok('monitor.budgets', (
        f'nova-rt monitor {"can" if known else "cannot"} tell when budgets '
        f'of {name} run out' + ('.' if known else
                                '; it knows those of '
                                f'{" and ".join(_BUDGETS)}.')))


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
    'monitor.power': power,
}
