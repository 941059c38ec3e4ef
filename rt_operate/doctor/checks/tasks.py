# SPDX-License-Identifier: Apache-2.0

"""Checks for real-time tasks in groups where they do harm or cannot run."""

from collections.abc import Callable, Iterator
import posixpath

from nova_rt.machine.host import proc
from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.rules import cpulist
from nova_rt.rules import words
from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def no_budget(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that every real-time task is in a group with a budget."""
    name = 'tasks.no_budget'
    if view.groups is None or view.interface is None:
        return
    rule = _starved if view.interface.inherits else _without
    misplaced = list(_in_groups(view, rule))
    if misplaced:
        yield findings.problem(
            name, f'Real-time tasks are in groups without any budget to run '
            f'on: {findings.first_few(misplaced)}.',
            'Give the group a budget, or make the tasks ordinary: chrt -o -p '
            '0 TID')
    else:
        yield findings.ok(
            name, f'None of the {len(view.tasks.real_time)} real-time tasks '
            f'is in a group without a budget.')


def middle(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that real-time tasks are only in leaf groups.

    HCBS requires this, but the kernel does not enforce it.
    """
    if (view.interface is None or not view.interface.deadline_servers
            or view.interface.inherits):
        return
    misplaced = list(_in_groups(view, _is_middle))
    if misplaced:
        yield findings.problem(
            'tasks.middle', f'Real-time tasks are in groups whose children '
            f'have a budget, so the same bandwidth is used twice: '
            f'{findings.first_few(misplaced)}.',
            'Make these tasks ordinary (chrt -o -p 0 TID), or move them to a '
            'group without children.')
    else:
        yield findings.ok('tasks.middle', 'No real-time task is in a group '
                          'whose children have a budget.')


def priority(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that tasks of the host do not starve the servers.

    A mainline kernel compares priorities across groups.
    """
    if view.groups is None or view.interface is None or (
            not view.interface.fixed_priorities):
        return
    name = 'tasks.priority'
    least = view.options.guest_priority
    high = [task for task in view.tasks.real_time if task.priority >= least]
    threads = sum(task.kernel for task in high)
    competing = [str(task) for task in high
                 if not task.kernel and _competes(view, view.groups, task)]
    if competing:
        yield findings.warning(
            name, f'Real-time tasks outside of the servers have a priority '
            f'of {least} (guest_priority) or more, and can starve servers: '
            f'{findings.first_few(competing)}.',
            'Lower the priority of these tasks, raise [nova_rt] '
            'guest_priority, or keep the tasks off the pCPUs of rt_cpus.')
    else:
        yield findings.ok(
            name, f'No process outside of the servers has a priority of '
            f'{least} (guest_priority) or more, not counting '
            f'{words.count(threads, "kernel thread")}.')


def _competes(view: doctor_view.View, groups: kernel_groups.Groups,
              task: proc.Task) -> bool:
    """Tells whether a task of the host may run on the pCPUs of servers."""
    if (view.group_of(task) + '/').startswith(groups.partition + '/'):
        return False
    try:
        allowed = proc.status(view.host, task)['Cpus_allowed_list']
    except (FileNotFoundError, ProcessLookupError):
        return False  # the task has ended
    return bool(config.chosen(view) & {*cpulist.parse_ids(allowed)})


def _in_groups(view: doctor_view.View,
               rule: Callable[[kernel_groups.Groups, str], bool]
               ) -> Iterator[str]:
    """Yields the real-time tasks in groups for which *rule* holds."""
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
    """Tells whether the group that passes its budget to *path* is full."""
    while path.strip('/'):
        group = groups.get(path)
        if group is not None and group.configured:
            return groups.room(path) <= 0
        path = posixpath.dirname(path)
    return False  # the root group, whose tasks need no budget


def _is_middle(groups: kernel_groups.Groups, path: str) -> bool:
    return any(child.budget for child in groups.children(path))


CHECKS: dict[str, doctor_view.Check] = {
    'tasks.no_budget': no_budget,
    'tasks.middle': middle,
    'tasks.priority': priority,
}
