# SPDX-License-Identifier: Apache-2.0

"""Hosts that reserve by SCHED_DEADLINE threads in place of groups."""

from collections.abc import Iterator
import contextlib

from nova_rt.doctor import findings
from nova_rt.doctor import view as doctor_view
from nova_rt.host import files as host_files
from nova_rt.host import sched
from nova_rt.kernel import deadline


def ppm(view: doctor_view.View) -> int:
    """What the kernel leaves of each pCPU to the vCPUs of servers.

    :raises OSError, ValueError: it cannot be told
    """
    def read(server: str, cpu: int, name: str) -> int:
        return view.host.number(
            f'{host_files.DEBUG}/sched/{server}/cpu{cpu}/{name}')

    mount = view.hierarchy.mount if view.hierarchy else '/sys/fs/cgroup'
    return deadline.Admission(view.host, mount, read).ppm(_others(view))


def _others(view: doctor_view.View) -> int:
    """Units of threads that are no vCPUs."""
    guests = tuple(guest.domain + '/' for guest in view.guests)
    found = 0
    for task in view.tasks.deadline:
        if not task.kernel and not (view.group_of(task) + '/').startswith(
                guests):
            with contextlib.suppress(ProcessLookupError):
                policy = sched.get(task.thread)
                found += deadline.units(policy.runtime, policy.period)
    return found


def containers(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.detection.deadline and view.options.virt_type == 'lxc':
        yield findings.problem(
            'deadline.containers', 'SCHED_DEADLINE is for the vCPUs of '
            'virtual machines: with [libvirt] virt_type = lxc the host '
            'offers no share.',
            'Unset [nova_rt] kernel_interface, or run virtual machines.')


CHECKS: dict[str, doctor_view.Check] = {
    'deadline.containers': containers,
}
