# SPDX-License-Identifier: Apache-2.0

"""Whether root of a container can change what others were given."""

from collections.abc import Callable, Iterator
import contextlib

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests
from nova_rt.machine.host import proc
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def user_namespace(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'containers.user_namespace'
    found = _those(view, _is_host_root)
    if found:
        yield findings.warning(
            name, f'Root is that of the host in {_some(found)}: it can '
            f'mount the cgroup hierarchy and change any budget.',
            'Set uid_maps and gid_maps in [libvirt] of nova.conf, restart '
            'nova-compute, then reboot these servers (hard).')
    else:
        yield findings.ok(
            name, 'No container runs in the user namespace of the host.')


def capabilities(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'containers.capabilities'
    found = _those(view, _can_outrank)
    if found:
        yield findings.warning(
            name, f'Root can raise its priority above that of all servers '
            f'in {_some(found)}: it keeps CAP_SYS_NICE or CAP_SYS_RESOURCE, '
            f'which count without a user namespace.',
            'Have sys_nice and sys_resource in [nova_rt] drop_capabilities, '
            'restart nova-compute, then reboot these servers (hard).')
    else:
        yield findings.ok(
            name, 'No container can raise its priority by itself.')


def _some(found: list[guests.Guest]) -> str:
    return (f'{findings.count(len(found), "container")}, '
            f'{findings.some(found)}')


def _those(view: doctor_view.View,
           is_one: Callable[[host_files.Host, proc.Task], bool]
           ) -> list[guests.Guest]:
    found = []
    for guest in view.guests:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if guest.init is not None and is_one(view.host, guest.init):
                found.append(guest)
    return found


def _is_host_root(host: host_files.Host, init: proc.Task) -> bool:
    return not proc.in_user_namespace(host, init)


def _can_outrank(host: host_files.Host, init: proc.Task) -> bool:
    return _is_host_root(host, init) and bool(proc.capabilities(host, init))


CHECKS: dict[str, doctor_view.Check] = {
    'containers.user_namespace': user_namespace,
    'containers.capabilities': capabilities,
}
