# SPDX-License-Identifier: Apache-2.0

"""Checks hosts that reserve by SCHED_DEADLINE threads, not by groups."""

from collections.abc import Iterator
import contextlib
import os

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import deadline
from nova_rt.rules import words
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_HALT_POLL = '/sys/module/kvm/parameters/halt_poll_ns'


def ppm(view: doctor_view.View) -> int:
    """Returns the bandwidth of each pCPU that vCPUs of servers can have.

    :raises OSError, ValueError: when it cannot be read
    """
    def read(server: str, cpu: int, name: str) -> int:
        return view.host.number(
            f'{host_files.DEBUG}/sched/{server}/cpu{cpu}/{name}')

    mount = view.hierarchy.mount if view.hierarchy else '/sys/fs/cgroup'
    admission = deadline.Admission(view.host, mount, read)
    return admission.ppm(_foreign_threads(view))


def _foreign_threads(view: doctor_view.View) -> list[deadline.Other]:
    """Returns the SCHED_DEADLINE threads that are not vCPUs."""
    controller = view.hierarchy.controller if view.hierarchy else ''
    return deadline.other_threads(view.host, view.tasks.deadline, controller)


def containers(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that a host with SCHED_DEADLINE runs virtual machines."""
    if view.detection.deadline and view.options.virt_type == 'lxc':
        yield findings.problem(
            'deadline.containers', 'SCHED_DEADLINE only reserves for the '
            'vCPUs of virtual machines: with [libvirt] virt_type = lxc this '
            'host offers no share.',
            'Unset [nova_rt] kernel_interface, or run virtual machines.')


def foreign_tasks(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks which other tasks run before ordinary tasks."""
    if not view.detection.deadline:
        return
    yield _strangers(_foreign_threads(view))
    real_time = [str(task) for task in view.tasks.real_time
                 if not task.kernel]
    name = 'deadline.real_time'
    if real_time:
        yield findings.warning(
            name, f'Some processes are SCHED_FIFO or SCHED_RR: '
            f'{findings.first_few(real_time)}. vCPUs with a reservation run '
            f'before these processes, but emulators and guests without a '
            f'reservation do not.',
            'Keep these processes off the pCPUs of guests, or make them '
            'ordinary: chrt -o -p 0 TID')
    else:
        yield findings.ok(name, 'No process is SCHED_FIFO or SCHED_RR.')


def _strangers(threads: list[deadline.Other]) -> findings.Finding:
    name = 'deadline.others'
    if not threads:
        return findings.ok(name, 'Only vCPUs are SCHED_DEADLINE.')
    reclaiming = [str(thread) for thread in threads if thread.reclaims]
    if reclaiming:
        return findings.problem(
            name, 'Threads that are not vCPUs are SCHED_DEADLINE and reclaim '
            'unused bandwidth (SCHED_FLAG_RECLAIM): '
            f'{findings.first_few(reclaiming)}. Kernels such as 6.12 also '
            'give these threads bandwidth that is reserved, so nothing can be '
            'reserved here.',
            'Configure the services of these threads not to use the flag, or '
            'end these services.')
    return findings.warning(
        name, f'Threads that are not vCPUs are SCHED_DEADLINE and may run on '
        f'any pCPU: {findings.first_few([*map(str, threads)])}.',
        'Configure the services of these threads not to use SCHED_DEADLINE: '
        'the bandwidth of the threads is subtracted from every pCPU.')


def pinned(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that each vCPU with a reservation has one pCPU."""
    if not view.detection.deadline:
        return
    name = 'deadline.pinned'
    vcpus = [task for task in view.tasks.deadline
             if deadline.is_vcpu(view.group_of(task))]
    unpinned = []
    for task in vcpus:
        with contextlib.suppress(ProcessLookupError):
            if len(os.sched_getaffinity(task.thread)) > 1:
                unpinned.append(str(task))
    if unpinned and len(view.host.online) > 1:
        yield findings.warning(
            name, f'vCPUs with a reservation may run on several pCPUs '
            f'(global EDF), and the kernel then guarantees less: '
            f'{findings.first_few(unpinned)}.',
            'See the log of nova-compute for the reason why nova-compute '
            'cannot pin these vCPUs.')
    elif vcpus:
        yield findings.ok(name, f'{words.count(len(vcpus), "vCPU")} with '
                          f'a reservation: each is pinned to one pCPU.')


def polling(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that vCPUs do not use up their runtime by polling."""
    value = view.host.optional(_HALT_POLL)
    if not view.detection.deadline or value is None:
        return
    name = 'deadline.halt_poll'
    if value == '0':
        yield findings.ok(name, 'KVM does not poll for halted vCPUs.')
    else:
        yield findings.warning(
            name, f'KVM polls for up to {value} ns before a vCPU sleeps '
            '(halt_poll_ns), and the polling uses up runtime of the vCPU.',
            f'echo 0 > {_HALT_POLL}')


CHECKS: dict[str, doctor_view.Check] = {
    'deadline.containers': containers,
    'deadline.pinned': pinned,
    'deadline.others': foreign_tasks,
    'deadline.halt_poll': polling,
}
