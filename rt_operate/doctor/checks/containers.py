# SPDX-License-Identifier: Apache-2.0

"""Checks whether ``chrt`` works inside containers; names the obstacle."""

from collections.abc import Iterator

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests
from nova_rt.machine.host import proc
from nova_rt.rules import words
from rt_operate.doctor.checks import kernel
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def chrt(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether tasks in containers can make themselves real-time."""
    name = 'containers.chrt'
    never = _never(view)
    if never:
        yield findings.problem(
            name, f'chrt cannot work in any container: {never}.',
            'See kernel.interface.')
        return
    containers = [guest for guest in view.guests if guest.init is not None]
    if not containers:
        yield findings.ok(
            name, f'No container runs; in a container without a budget chrt '
            f'{_without(view)}.')
        return
    with_budget = [(guest, _stops(view.host, guest)) for guest in containers
                   if _budget(view, guest)]
    stopped = [f'{guest} ({", ".join(why)})'
               for guest, why in with_budget if why]
    yield _finding(name, view.options.guest_policy, stopped, len(with_budget),
                   len(containers) - len(with_budget), _without(view))


def _without(view: doctor_view.View) -> str:
    """Returns what chrt does in a group without a budget of its own."""
    if view.interface is not None and view.interface.inherits:
        return ('fails with EPERM, also for root, unless a group above has '
                'a budget that the task can use')
    return 'fails with EPERM, also for root'


def _finding(name: str, policy: str, stopped: list[str], reserved: int,
             rest: int, without: str) -> findings.Finding:
    aside = (f'; in {words.count(rest, "container")} without a budget '
             f'chrt {without}' if rest else '')
    text = (f'chrt fails in containers with a budget, '
            f'{findings.first_few(stopped)}')
    if not stopped:
        return findings.ok(
            name, f'chrt works in {words.count(reserved, "container")} '
            f'with a budget{aside}.')
    if policy == 'none':
        return findings.warning(
            name, f'{text}{aside}.', 'Set [nova_rt] guest_policy to rr or '
            'fifo, so that nova-compute makes their tasks real-time.')
    return findings.ok(
        name, f'{text}; nova-compute makes their tasks real-time without '
        f'chrt (guest_policy {policy}){aside}.')


def _never(view: doctor_view.View) -> str:
    """Returns why chrt cannot work on this kernel; '' if it can."""
    if view.interface is not None or view.hierarchy is None or (
            view.hierarchy.controller):
        return ''
    detection = view.detection
    if detection.file or detection.trouble or detection.deadline:
        return ''
    if kernel.rt_group_sched(view.host):
        return ('with CONFIG_RT_GROUP_SCHED=y on cgroup v2 only tasks of '
                'the root group can be real-time')
    return ''


def _budget(view: doctor_view.View, guest: guests.Guest) -> bool:
    if view.groups is None:
        return False
    group = view.groups.get(guest.domain)
    return group is not None and group.budget


def _stops(host: host_files.Host, guest: guests.Guest) -> list[str]:
    """Returns what the first process of a container lacks for chrt."""
    init = guest.init
    if init is None:
        return []
    try:
        if proc.priority_limit(host, init) > 0:
            return []  # the limit alone is enough
        nice = 'sys_nice' in proc.capabilities(host, init)
        mapped = proc.in_user_namespace(host, init)
    except (FileNotFoundError, ProcessLookupError):
        return []  # the process has ended
    if not nice:
        why = 'no CAP_SYS_NICE in its bounding set'
    elif mapped:
        why = 'CAP_SYS_NICE has no effect in a user namespace'
    else:
        return []
    return [why, 'RLIMIT_RTPRIO is 0']


CHECKS: dict[str, doctor_view.Check] = {
    'containers.chrt': chrt,
}
