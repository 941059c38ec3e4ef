# SPDX-License-Identifier: Apache-2.0

"""Checks for unused budgets, and for room that a guest could take."""

from collections.abc import Iterator
import posixpath
import re

from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.machine.kernel import tree
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

#: The groups of the threads of a virtual machine.
_OF_MACHINES = re.compile(r'emulator|(?:vcpu|iothread)[0-9]+')
_AUDIT = ('Start nova-compute, which corrects this at its start and in each '
          'audit.')


def orphans(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks for groups that hold a budget but have no task."""
    if view.groups is None:
        return
    empty: list[kernel_groups.Group] = []
    for group in view.groups.below(view.groups.partition):
        inside = any(group.path.startswith(above.path + '/')
                     for above in empty)
        if group.budget and not inside and not view.groups.populated(
                group.path):
            empty.append(group)
    if empty:
        text = findings.first_few([
            f'{group.path} ({findings.share(group.ppm)})'
            for group in empty])
        yield findings.warning(
            'orphans.budget', f'Groups hold a budget but have no task: '
            f'{text}.', _AUDIT)
    else:
        yield findings.ok('orphans.budget',
                          'Every group that holds a budget has a task.')


def room(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks for parents that hold more than the groups below them."""
    if view.groups is None:
        return
    room_by_path = [(path, view.groups.room(path))
                    for path in view.groups.parents()]
    too_large = [f'{path} ({findings.share(ppm)} more)'
                 for path, ppm in room_by_path if ppm > 0]
    if too_large:
        yield findings.warning(
            'orphans.room', 'Groups hold more than the groups below them, and '
            'a guest could take the difference: '
            f'{findings.first_few(too_large)}.',
            _AUDIT)
    else:
        yield findings.ok('orphans.room', _as_it_should_be(view, view.groups))


def _as_it_should_be(view: doctor_view.View, groups: kernel_groups.Groups
                     ) -> str:
    top = groups.partition
    if (view.interface is not None and view.interface.keeps_room(top)
            and groups.charged(top)):
        return (f'{top} holds more than the servers, because this kernel '
                f'also throttles {top}; no group between {top} and the '
                'servers holds more than the groups below it.')
    return 'No group above the servers holds more than the groups below it.'


def period(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that the groups above the servers have the period of parents."""
    if view.groups is None:
        return
    wrong = []
    for path in view.groups.parents():
        group = view.groups.get(path)
        if group is not None and group.budget and (
                group.state.period_us != tree.PARENT_PERIOD_US):
            wrong.append(f'{path} ({group.state.period_us} us)')
    if wrong:
        yield findings.problem(
            'orphans.period', f'nova-compute refuses to work, because groups '
            f'above the servers have a period other than '
            f'{tree.PARENT_PERIOD_US} us: {findings.first_few(wrong)}.',
            f'Set the period to {tree.PARENT_PERIOD_US} us and the runtime '
            f'so that the share of each group stays the same.')


def free(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that no container without a reservation can run in real time.

    The real-time tasks of such a container would run on a pCPU on which the
    group of all guests has room.  On other pCPUs the kernel accepts these
    tasks but never runs them, and they cannot be killed.
    """
    if (view.groups is None or view.interface is None
            or not view.interface.inherits):
        return
    top = view.groups.get(view.groups.partition)
    containers = [group.path for group in view.groups.below(
        view.groups.partition) if _is_free(view.groups, group)]
    if containers and top is not None and top.budget:
        yield findings.warning(
            'orphans.free', f'Containers without a reservation may run in '
            f'real time: {findings.first_few(containers)}.', _AUDIT)
    else:
        yield findings.ok('orphans.free', 'No container without a '
                          'reservation may run in real time.')


def _is_free(groups: kernel_groups.Groups, group: kernel_groups.Group
             ) -> bool:
    """Tells whether tasks of a container use room of the group of guests.

    Inside a virtual machine, nobody can change the policy of the threads of
    QEMU.
    """
    above = group
    while not above.configured and above.path != groups.partition:
        parent = groups.get(posixpath.dirname(above.path))
        if parent is None:
            return False
        above = parent
    return (above.path == groups.partition
            and not _OF_MACHINES.fullmatch(posixpath.basename(group.path))
            and groups.occupied(group.path))


CHECKS: dict[str, doctor_view.Check] = {
    'orphans.budget': orphans,
    'orphans.room': room,
    'orphans.free': free,
    'orphans.period': period,
}
