# SPDX-License-Identifier: Apache-2.0

"""Checks what a container can reach of the host and of other servers."""

from collections.abc import Callable, Iterator
import contextlib

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests
from nova_rt.machine.host import proc
from nova_rt.rules import words
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def user_namespace(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether root of a container is root of the host."""
    name = 'containers.user_namespace'
    unconfined = _those(view, _is_host_root)
    if unconfined:
        yield findings.warning(
            name, f'In {_some(unconfined)}, root is the root of the host, and '
            'can mount the cgroup hierarchy and change any budget.',
            'Set uid_maps and gid_maps in [libvirt] of nova.conf, restart '
            'nova-compute, then hard-reboot these servers.')
    else:
        yield findings.ok(
            name, 'No container runs in the user namespace of the host.')


def capabilities(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether root of a container can raise its priority."""
    name = 'containers.capabilities'
    unconfined = _those(view, _can_outrank)
    if unconfined:
        yield findings.warning(
            name, f'In {_some(unconfined)}, root can raise its priority above '
            'the priority of all servers, because root has CAP_SYS_NICE or '
            'CAP_SYS_RESOURCE and no user namespace.',
            'Add sys_nice and sys_resource to [nova_rt] drop_capabilities, '
            'restart nova-compute, then hard-reboot these servers.')
    else:
        yield findings.ok(
            name, 'No container can raise its priority by itself.')


def network(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether a container reaches services on loopback addresses."""
    name = 'containers.network'
    sharing = _those(view, _shares_network)
    if sharing:
        yield findings.warning(
            name, f'In {_some(sharing)}, the network is the network of the '
            'host: services that listen on a loopback address of the host, '
            'such as nova-rt-monitor, can be reached from there.',
            'Hard-reboot these servers: nova-compute with nova-rt gives each '
            'container a network of its own.')
    else:
        yield findings.ok(name, 'No container shares the network of the '
                                'host.')


def _shares_network(host: host_files.Host, init: proc.Task) -> bool:
    return host.inode(f'/proc/{init.pid}/ns/net') == host.inode(
        '/proc/self/ns/net')


def _some(containers: list[guests.Guest]) -> str:
    return (f'{words.count(len(containers), "container")}, '
            f'{findings.first_few(containers)}')


def _those(view: doctor_view.View,
           condition: Callable[[host_files.Host, proc.Task], bool]
           ) -> list[guests.Guest]:
    matching = []
    for guest in view.guests:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if guest.init is not None and condition(view.host, guest.init):
                matching.append(guest)
    return matching


def _is_host_root(host: host_files.Host, init: proc.Task) -> bool:
    return not proc.in_user_namespace(host, init)


def _can_outrank(host: host_files.Host, init: proc.Task) -> bool:
    return _is_host_root(host, init) and bool(proc.capabilities(host, init))


CHECKS: dict[str, doctor_view.Check] = {
    'containers.user_namespace': user_namespace,
    'containers.capabilities': capabilities,
    'containers.network': network,
}
