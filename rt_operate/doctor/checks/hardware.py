# SPDX-License-Identifier: Apache-2.0

"""Checks SMT, the clock frequency and CPU hotplug.

All three change how much work a pCPU does in a microsecond.
"""

from collections.abc import Iterator

from nova_rt.rules import cpulist
from nova_rt.rules import words
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_CPUS = '/sys/devices/system/cpu'
_SMT = f'{_CPUS}/smt/active'
_SIBLINGS = _CPUS + '/cpu{}/topology/thread_siblings_list'
_GOVERNOR = _CPUS + '/cpu{}/cpufreq/scaling_governor'
#: The files that tell whether the clock may exceed its nominal frequency,
#: with the values for yes and no.
_TURBO = ((f'{_CPUS}/intel_pstate/no_turbo', '0', '1'),
          (f'{_CPUS}/cpufreq/boost', '1', '0'))


def smt(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether pCPUs are hardware threads that share a core."""
    name = 'hardware.smt'
    active = view.host.optional(_SMT)
    if active == '1':
        yield findings.warning(
            name, f'SMT is on{_shared(view)}: a share is a share of the time '
            'of a hardware thread, and the thread does less work in this time '
            'while its siblings are busy.',
            f'echo off > {_CPUS}/smt/control (before any server runs); or '
            f'set [nova_rt] smt = core, so that the reservations on all '
            f'threads of a core count as one, and keep ordinary servers off '
            f'the siblings.')
    elif active == '0':
        yield findings.ok(name, 'SMT is off.')
    else:
        yield findings.ok(name, 'The kernel does not report SMT.')


def _shared(view: doctor_view.View) -> str:
    """Returns the pCPUs that are the first, second ... thread of a core."""
    threads: dict[int, list[int]] = {}
    for cpu in view.host.online:
        text = view.host.optional(_SIBLINGS.format(cpu))
        ids = cpulist.parse_ids(text) if text else ()
        if len(ids) > 1 and cpu in ids:
            threads.setdefault(ids.index(cpu), []).append(cpu)
    if len(threads) < 2:
        return ''
    ranges = ' with '.join(cpulist.format_ids(ids)
                           for _, ids in sorted(threads.items()))
    return f' (pCPUs {ranges} share cores)'


def governor(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the frequency of pCPUs is scaled."""
    name = 'hardware.governor'
    by_governor: dict[str, list[int]] = {}
    for cpu in view.host.online:
        value = view.host.optional(_GOVERNOR.format(cpu))
        if value is not None:
            by_governor.setdefault(value, []).append(cpu)
    slow = {key: ids for key, ids in by_governor.items()
            if key != 'performance'}
    if not by_governor:
        yield findings.ok(name, 'The kernel does not scale the frequency.')
    elif not slow:
        yield findings.ok(name, 'All pCPUs run at their full frequency.')
    else:
        text = ', '.join(f'{key} on {cpulist.format_ids(ids)}'
                         for key, ids in sorted(slow.items()))
        yield findings.warning(
            name, f'The frequency of pCPUs is scaled ({text}): at a lower '
            f'frequency less work is done in a runtime.',
            'cpupower frequency-set -g performance')


def turbo(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the clock may exceed its nominal frequency."""
    for path, yes, no in _TURBO:
        value = view.host.optional(path)
        if value == yes:
            yield findings.warning(
                'hardware.turbo', 'Turbo is on: the amount of work that is '
                'done in a runtime depends on how busy the other pCPUs are.',
                f'echo {no} > {path}')
            return
        if value is not None:
            yield findings.ok('hardware.turbo', 'Turbo is off.')
            return


def offline(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows the pCPUs that are offline."""
    ids = sorted({*view.host.ids(f'{_CPUS}/present')}
                 - {*view.host.online})
    if view.interface is not None and view.interface.binds_cpus:
        yield _bound(ids)
    elif ids:
        # This is not a warning, because SMT is switched off in this way.
        yield findings.ok(
            'hardware.offline', f'Offline: {words.ids(ids)}; bring pCPUs '
            f'online only while no server has a reservation.')


def _bound(ids: list[int]) -> findings.Finding:
    """Returns the finding for kernels whose budgets are bound to pCPUs.

    :param ids: the pCPUs that are offline
    """
    name = 'hardware.offline'
    if ids:
        return findings.warning(
            name, f'Offline: {words.ids(ids)}.  This kernel keeps the '
            'budgets of servers on pCPUs that are offline, and moves a budget '
            'to other pCPUs only when the budget is written again.',
            f'echo 1 > {_CPUS}/cpuN/online, then restart nova-compute.')
    return findings.ok(
        name, 'All pCPUs are online.  Keep all pCPUs online: on this kernel, '
        'the command that takes a pCPU offline does not end while a real-time '
        'task of a server runs there.')


CHECKS: dict[str, doctor_view.Check] = {
    'hardware.smt': smt,
    'hardware.governor': governor,
    'hardware.turbo': turbo,
    'hardware.offline': offline,
}
