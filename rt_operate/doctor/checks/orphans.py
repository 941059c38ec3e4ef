# SPDX-License-Identifier: Apache-2.0

"""Budgets nobody uses, and room that a guest could take."""

from collections.abc import Iterator

from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.machine.kernel import tree
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_AUDIT = ('Have nova-compute run: it puts this right when it starts and in '
          'each audit.')


def orphans(view: doctor_view.View) -> Iterator[findings.Finding]:
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
        text = findings.some([f'{group.path} ({findings.share(group.ppm)})'
                              for group in empty])
        yield findings.warning(
            'orphans.budget', f'Groups hold a budget and have no task: '
            f'{text}.', _AUDIT)
    else:
        yield findings.ok('orphans.budget',
                          'No group holds a budget without a task.')


def room(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.groups is None:
        return
    loose = [(path, view.groups.room(path)) for path in view.groups.parents()]
    found = [f'{path} ({findings.share(ppm)} more)'
             for path, ppm in loose if ppm > 0]
    if found:
        yield findings.warning(
            'orphans.room', f'Groups hold more than their children, which a '
            f'guest could take: {findings.some(found)}.', _AUDIT)
    else:
        yield findings.ok('orphans.room', _as_it_should_be(view, view.groups))


def _as_it_should_be(view: doctor_view.View, groups: kernel_groups.Groups
                     ) -> str:
    top = groups.partition
    if (view.interface is not None and view.interface.keeps_room(top)
            and groups.charged(top)):
        return (f'{top} holds more than the servers do, as this kernel, '
                f'which throttles it, too, needs; the groups between hold '
                f'just what these do.')
    return 'The groups above the servers hold just what these do.'


def period(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.groups is None:
        return
    found = []
    for path in view.groups.parents():
        group = view.groups.get(path)
        if group is not None and group.budget and (
                group.held.period_us != tree.PARENT_PERIOD_US):
            found.append(f'{path} ({group.held.period_us} us)')
    if found:
        yield findings.problem(
            'orphans.period', f'Groups above the servers have another period '
            f'than {tree.PARENT_PERIOD_US} us, which nova-compute refuses '
            f'to work with: {findings.some(found)}.',
            f'Set it to {tree.PARENT_PERIOD_US} us, and their runtime to '
            f'the same share.')


CHECKS: dict[str, doctor_view.Check] = {
    'orphans.budget': orphans,
    'orphans.room': room,
    'orphans.period': period,
}
