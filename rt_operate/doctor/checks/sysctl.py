# SPDX-License-Identifier: Apache-2.0

"""Checks the settings of the kernel for all real-time tasks together."""

from collections.abc import Iterator

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import sysctl
from nova_rt.rules import reservation
from rt_operate.doctor.checks import deadline_servers
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_TIMESLICE = '/proc/sys/kernel/sched_rr_timeslice_ms'
_RUNTIME_ID = 'sysctl.rt_runtime'
#: The kernel rounds shares to fractions of 20 bits.
_NOISE_PPM = 2


def limit(host: host_files.Host) -> tuple[int, int]:
    """Returns the runtime and the period of all real-time tasks, in us."""
    return (host.number(sysctl.PATH.format('runtime')),
            host.number(sysctl.PATH.format('period')))


def rt_runtime(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks kernel.sched_rt_runtime_us."""
    value, period = limit(view.host)
    text = f'kernel.sched_rt_runtime_us is {value}'
    if value < 0:
        yield findings.problem(
            _RUNTIME_ID, f'{text}: the kernel does not enforce budgets and '
            f'does not check whether they fit.',
            'sysctl kernel.sched_rt_runtime_us=950000')
    elif value == 0:
        yield findings.problem(
            _RUNTIME_ID, f'{text}: real-time tasks never run.',
            'sysctl kernel.sched_rt_runtime_us=950000')
    elif value >= period and (kept := deadline_servers.fair_share(view.host)):
        yield findings.ok(
            _RUNTIME_ID, f'{text}, the whole period of {period}, which is '
            f'the default since Linux 7.2; the fair_server keeps '
            f'{findings.share(kept)} of each pCPU for ordinary tasks.')
    elif value >= period and not _deadline_servers(view):
        yield findings.warning(
            _RUNTIME_ID, f'{text}, the whole period of {period}: real-time '
            f'tasks may leave no CPU time to ordinary tasks.',
            'sysctl kernel.sched_rt_runtime_us=950000')
    else:
        yield findings.ok(_RUNTIME_ID, f'{text} in every {period}.')


def root_group(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that the root group agrees with kernel.sched_rt_runtime_us.

    The kernel has both limits, and often only one of them is changed.
    """
    value, period = limit(view.host)
    if view.groups is None or value < 0 or not view.groups.root.budget:
        return
    own = view.groups.root.ppm
    allowed = value * reservation.PPM // max(1, period)
    name = 'sysctl.root_group'
    if abs(own - allowed) <= _NOISE_PPM:
        yield findings.ok(name, 'The root group agrees with '
                          'kernel.sched_rt_runtime_us.')
    elif own > allowed:
        yield findings.warning(
            name, f'The root group hands out {findings.share(own)}, and '
            f'kernel.sched_rt_runtime_us only allows '
            f'{findings.share(allowed)}, which is the limit in effect.',
            'Lower the budget of the root group to this share.')
    elif _deadline_servers(view):
        yield findings.ok(
            name, f'The root group hands out {findings.share(own)} of '
            f'{findings.share(allowed)}; the rest is for SCHED_DEADLINE '
            f'tasks.')
    else:
        yield findings.warning(
            name, f'The root group hands out {findings.share(own)}, less '
            f'than the {findings.share(allowed)} that '
            f'kernel.sched_rt_runtime_us allows.',
            f'Also raise {view.detection.file} of the root group, or set the '
            f'sysctl back.')


def timeslice(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks the time slice of SCHED_RR tasks."""
    if view.options.guest_policy != 'rr' or (
            view.host.optional(_TIMESLICE) is None):
        return
    value = view.host.number(_TIMESLICE)
    name = 'sysctl.rr_timeslice'
    text = (f'Tasks of one priority take turns every {value} ms of run time '
            f'(kernel.sched_rr_timeslice_ms)')
    if value > 0:
        yield findings.ok(name, f'{text}.')
    else:
        yield findings.warning(name, f'{text}, which is not a valid length.',
                               'sysctl kernel.sched_rr_timeslice_ms=100')


def _deadline_servers(view: doctor_view.View) -> bool:
    """Tells whether this is an HCBS kernel, which limits runaway tasks."""
    return view.interface is not None and view.interface.deadline_servers


CHECKS: dict[str, doctor_view.Check] = {
    _RUNTIME_ID: rt_runtime,
    'sysctl.root_group': root_group,
    'sysctl.rr_timeslice': timeslice,
}
