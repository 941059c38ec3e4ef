# SPDX-License-Identifier: Apache-2.0

"""What a microsecond of a pCPU is worth: SMT, clock, hotplug."""

from collections.abc import Iterator

from nova_rt.rules import cpulist
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_CPUS = '/sys/devices/system/cpu'
_SMT = f'{_CPUS}/smt/active'
_GOVERNOR = _CPUS + '/cpu{}/cpufreq/scaling_governor'
#: What says whether the clock may exceed the nominal one, and its yes.
_TURBO = ((f'{_CPUS}/intel_pstate/no_turbo', '0', '1'),
          (f'{_CPUS}/cpufreq/boost', '1', '0'))


def smt(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'hardware.smt'
    active = view.host.optional(_SMT)
    if active == '1':
        yield findings.warning(
            name, 'SMT is on: a share is one of a hardware thread, which '
            'runs slower while its sibling is busy.',
            f'echo off > {_CPUS}/smt/control (before any server runs), or '
            f'keep the siblings of rt_cpus idle.')
    elif active == '0':
        yield findings.ok(name, 'SMT is off.')
    else:
        yield findings.ok(name, 'The kernel knows of no SMT.')


def governor(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'hardware.governor'
    by_governor: dict[str, list[int]] = {}
    for cpu in view.host.online:
        found = view.host.optional(_GOVERNOR.format(cpu))
        if found is not None:
            by_governor.setdefault(found, []).append(cpu)
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
            name, f'The frequency of pCPUs is scaled ({text}): a runtime is '
            f'worth less work at a lower one.',
            'cpupower frequency-set -g performance')


def turbo(view: doctor_view.View) -> Iterator[findings.Finding]:
    for path, yes, no in _TURBO:
        value = view.host.optional(path)
        if value == yes:
            yield findings.warning(
                'hardware.turbo', 'Turbo is on: what a runtime is worth '
                'depends on how busy the other pCPUs are.',
                f'echo {no} > {path}')
            return
        if value is not None:
            yield findings.ok('hardware.turbo', 'Turbo is off.')
            return


def offline(view: doctor_view.View) -> Iterator[findings.Finding]:
    away = sorted({*view.host.ids(f'{_CPUS}/present')}
                  - {*view.host.online})
    if away:
        # No warning: this is how SMT is switched off.
        yield findings.ok(
            'hardware.offline', f'pCPUs {cpulist.format_ids(away)} are '
            f'offline; change that only while no server has a reservation.')


CHECKS: dict[str, doctor_view.Check] = {
    'hardware.smt': smt,
    'hardware.governor': governor,
    'hardware.turbo': turbo,
    'hardware.offline': offline,
}
