# SPDX-License-Identifier: Apache-2.0

"""Hosts that reserve by SCHED_DEADLINE threads in place of groups."""

from collections.abc import Iterator
import contextlib
import os

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import deadline
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_HALT_POLL = '/sys/module/kvm/parameters/halt_poll_ns'


def ppm(view: doctor_view.View) -> int:
    """What the kernel leaves of each pCPU to the vCPUs of servers.

    :raises OSError, ValueError: it cannot be told
    """
    def read(server: str, cpu: int, name: str) -> int:
        return view.host.number(
            f'{host_files.DEBUG}/sched/{server}/cpu{cpu}/{name}')

    mount = view.hierarchy.mount if view.hierarchy else '/sys/fs/cgroup'
    admission = deadline.Admission(view.host, mount, read)
    return admission.ppm(_others(view))


def _others(view: doctor_view.View) -> list[deadline.Other]:
    """The SCHED_DEADLINE threads that are no vCPUs."""
    controller = view.hierarchy.controller if view.hierarchy else ''
    return deadline.others(view.host, view.tasks.deadline, controller)


def containers(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.detection.deadline and view.options.virt_type == 'lxc':
        yield findings.problem(
            'deadline.containers', 'SCHED_DEADLINE is for the vCPUs of '
            'virtual machines: with [libvirt] virt_type = lxc the host '
            'offers no share.',
            'Unset [nova_rt] kernel_interface, or run virtual machines.')


def others(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Who else runs before ordinary tasks, and in what order."""
    if not view.detection.deadline:
        return
    yield _strangers(_others(view))
    real_time = [str(task) for task in view.tasks.real_time
                 if not task.kernel]
    name = 'deadline.real_time'
    if real_time:
        yield findings.warning(
            name, f'Processes are SCHED_FIFO or SCHED_RR: '
            f'{findings.some(real_time)}. Reservations come before them, '
            f'but emulators and guests without a reservation do not.',
            'Keep them off the pCPUs of guests, or make them ordinary: '
            'chrt -o -p 0 TID')
    else:
        yield findings.ok(name, 'No process is SCHED_FIFO or SCHED_RR.')


def _strangers(found: list[deadline.Other]) -> findings.Finding:
    name = 'deadline.others'
    if not found:
        return findings.ok(name, 'No thread but vCPUs is SCHED_DEADLINE.')
    reclaiming = [str(each) for each in found if each.reclaims]
    if reclaiming:
        return findings.problem(
            name, f'Other threads are SCHED_DEADLINE and take what others '
            f'leave (SCHED_FLAG_RECLAIM): {findings.some(reclaiming)}. '
            f'Kernels such as 6.12 give them what is reserved, too, so '
            f'nothing can be reserved here.',
            'Have their services do without the flag, or end them.')
    return findings.warning(
        name, f'Other threads are SCHED_DEADLINE, and may come to any '
        f'pCPU: {findings.some([str(each) for each in found])}.',
        'Have their services do without it: what they hold is taken '
        'from each pCPU.')


def pinned(view: doctor_view.View) -> Iterator[findings.Finding]:
    if not view.detection.deadline:
        return
    name = 'deadline.pinned'
    ours = [task for task in view.tasks.deadline
            if deadline.is_vcpu(view.group_of(task))]
    loose = []
    for task in ours:
        with contextlib.suppress(ProcessLookupError):
            if len(os.sched_getaffinity(task.thread)) > 1:
                loose.append(str(task))
    if loose and len(view.host.online) > 1:
        yield findings.warning(
            name, f'vCPUs with a reservation may run on several pCPUs '
            f'(global EDF), which promises less: {findings.some(loose)}.',
            'Look in the log of nova-compute for why it cannot pin them.')
    elif ours:
        yield findings.ok(name, f'{findings.count(len(ours), "vCPU")} with '
                          f'a reservation: each has its pCPU.')


def polling(view: doctor_view.View) -> Iterator[findings.Finding]:
    """A vCPU that polls uses its runtime up."""
    value = view.host.optional(_HALT_POLL)
    if not view.detection.deadline or value is None:
        return
    name = 'deadline.halt_poll'
    if value == '0':
        yield findings.ok(name, 'KVM does not poll for halted vCPUs.')
    else:
        yield findings.warning(
            name, f'KVM polls for up to {value} ns before a vCPU sleeps '
            f'(halt_poll_ns), which its runtime pays for.',
            f'echo 0 > {_HALT_POLL}')


CHECKS: dict[str, doctor_view.Check] = {
    'deadline.containers': containers,
    'deadline.pinned': pinned,
    'deadline.others': others,
    'deadline.halt_poll': polling,
}
