# SPDX-License-Identifier: Apache-2.0

"""Real-time tasks in the wrong place."""

from collections.abc import Callable, Iterator
import posixpath

from nova_rt.machine.host import proc
from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.rules import cpulist
from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def no_budget(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'tasks.no_budget'
    if view.groups is None or view.interface is None:
        return
    rule = _starved if view.interface.inherits else _without
    found = list(_in_groups(view, rule))
    if found:
        yield findings.problem(
            name, f'Real-time tasks are in groups with nothing to run on: '
            f'{findings.some(found)}.',
            'Give the group a budget, or make them ordinary: chrt -o -p 0 '
            'TID')
    else:
        yield findings.ok(
            name, f'None of the {len(view.tasks.real_time)} real-time tasks '
            f'is in a group without a budget.')


def middle(view: doctor_view.View) -> Iterator[findings.Finding]:
    """The leaf rule of HCBS, which the kernel itself does not keep."""
    if (view.interface is None or not view.interface.deadline_servers
            or view.interface.inherits):
        return
    found = list(_in_groups(view, _is_middle))
    if found:
        yield findings.problem(
            'tasks.middle', f'Real-time tasks are in groups whose children '
            f'have a budget, so that both get all of it: '
            f'{findings.some(found)}.',
            'Make them ordinary (chrt -o -p 0 TID), or move them to a leaf.')
    else:
        yield findings.ok('tasks.middle', 'No real-time task is in a group '
                          'whose children have a budget.')


def priority(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Mainline compares priorities across groups."""
    if view.groups is None or view.interface is None or (
            not view.interface.fixed_priorities):
        return
    name = 'tasks.priority'
    least = view.options.guest_priority
    high = [task for task in view.tasks.real_time if task.priority >= least]
    threads = sum(task.kernel for task in high)
    found = [str(task) for task in high
             if not task.kernel and _competes(view, view.groups, task)]
    if found:
        yield findings.warning(
            name, f'Real-time tasks outside of the servers have a priority '
            f'of {least} (guest_priority) or more, and starve them: '
            f'{findings.some(found)}.',
            'Lower theirs, raise [nova_rt] guest_priority, or keep them off '
            'the pCPUs of rt_cpus.')
    else:
        yield findings.ok(
            name, f'No process outside of the servers has a priority of '
            f'{least} (guest_priority) or more, leaving '
            f'{findings.count(threads, "kernel thread")} aside.')


def _competes(view: doctor_view.View, groups: kernel_groups.Groups,
              task: proc.Task) -> bool:
    """Whether it runs on pCPUs of servers and is none of their tasks."""
    if (view.group_of(task) + '/').startswith(groups.partition + '/'):
        return False
    try:
        allowed = proc.status(view.host, task)['Cpus_allowed_list']
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended
    return bool(config.chosen(view) & {*cpulist.parse_ids(allowed)})


def _in_groups(view: doctor_view.View,
               rule: Callable[[kernel_groups.Groups, str], bool]
               ) -> Iterator[str]:
    """The real-time tasks in groups for which *rule* holds."""
    if view.groups is None:
        return
    for task in view.tasks.real_time:
        group = view.group_of(task)
        if group.strip('/') and rule(view.groups, group):
            yield f'{task} in {group}'


def _without(groups: kernel_groups.Groups, path: str) -> bool:
    group = groups.get(path)
    return group is not None and not group.budget


def _starved(groups: kernel_groups.Groups, path: str) -> bool:
    """Says where the group that others inherit from has nothing left."""
    while path.strip('/'):
        group = groups.get(path)
        if group is not None and group.configured:
            return groups.room(path) <= 0
        path = posixpath.dirname(path)
    return False  # the root group: unreserved


def _is_middle(groups: kernel_groups.Groups, path: str) -> bool:
    return any(child.budget for child in groups.children(path))


CHECKS: dict[str, doctor_view.Check] = {
    'tasks.no_budget': no_budget,
    'tasks.middle': middle,
    'tasks.priority': priority,
}
