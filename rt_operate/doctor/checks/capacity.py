# SPDX-License-Identifier: Apache-2.0

"""Checks how much may be reserved, and which groups hold it."""

from collections.abc import Iterator
import dataclasses
import functools

from nova_rt.machine.host import timers
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.rules import reservation
from nova_rt.rules import words
from rt_operate.doctor.checks import config
from rt_operate.doctor.checks import deadline
from rt_operate.doctor.checks import interrupts
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """The bandwidth that all servers together may have.

    :ivar ppm: the bandwidth; None without a kernel interface, or when it
        cannot be read
    :ivar trouble: why it cannot be read; '' if it can
    """

    ppm: int | None
    trouble: str = ''


@functools.lru_cache(maxsize=1)
def offered(view: doctor_view.View) -> Offer:
    """Returns the offer of this host, which is read once for each view.

    The value may change at any moment, but one report must show one value.
    """
    try:
        return Offer(_offered(view))
    except Exception as error:
        # A finding reports the error, so that the summary is still printed.
        return Offer(None, findings.reason(error))


def _offered(view: doctor_view.View) -> int | None:
    if view.detection.deadline:
        if view.options.virt_type == 'lxc':
            return None  # see deadline.containers
        return min(deadline.ppm(view), view.options.cap_ppm)
    if view.interface is None or view.groups is None:
        return None
    kernel = view.interface.capacity(view.groups.partition).ppm
    return min(kernel, view.options.cap_ppm)


def total(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether this host has anything to reserve."""
    name = 'capacity.offered'
    offer = offered(view)
    ppm = offer.ppm
    if offer.trouble:
        yield findings.problem(
            name, f'Nothing can be reserved: {offer.trouble}.',
            'Correct the cause that this message names.')
        return
    if ppm is None:
        return
    if ppm:
        scope = 'by all servers together, whichever pCPUs they are on'
        if is_per_pcpu(view):
            pcpus = len(config.chosen(view))
            scope = (f'on each pCPU, {reservation.decimal(ppm * pcpus)} of '
                     f'{words.count(pcpus, "pCPU")} in all')
        yield findings.ok(
            name, f'{findings.share(ppm)} may be reserved {scope}'
            f'{_left(view, ppm)}{_below(view)}.')
    elif view.groups is not None and not view.groups.root.budget:
        yield findings.warning(
            name, 'The root group has no share to hand out yet.',
            'Start nova-compute, which gives the root group a share.')
    else:
        yield findings.problem(
            name, 'Nothing can be reserved: other groups or threads hold all '
            'of the bandwidth.',
            'Take back bandwidth that these groups or threads do not need; '
            'capacity.others and deadline.others name them.')


def is_per_pcpu(view: doctor_view.View) -> bool:
    """Checks whether the offer holds for each pCPU, not for all together."""
    return not (view.interface and view.interface.replicated)


def _left(view: doctor_view.View, ppm: int) -> str:
    """Returns a clause that says how much the running servers leave."""
    if view.groups is None or view.interface is None:
        return ''
    ppm_by_lane = [group.state.ppm for group
                   in view.groups.charged(view.groups.partition)]
    left = max(0, ppm - max(map(sum, zip(*ppm_by_lane, strict=True)),
                            default=0))
    where = '' if view.interface.replicated else ' on the fullest pCPU'
    return f'; {findings.share(left)} of it is left{where}'


def _below(view: doctor_view.View) -> str:
    """Returns a clause if interrupts get only the time that is left."""
    if not interrupts.exposed(view):
        return ''
    return (f'; threads of interrupts wait for reserved vCPUs '
            f'({interrupts.THREADS})')


def root(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows the share of the root group."""
    if view.groups is not None and view.groups.root.budget:
        yield findings.ok(
            'capacity.root', f'The root group hands out '
            f'{_shares(view, view.groups.root)}.')


def servers(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows the share of the group that the servers are in."""
    if view.groups is None:
        return
    path = view.groups.partition
    group = view.groups.get(path)
    if group is None or not group.budget:
        yield findings.ok('capacity.servers',
                          f'The group of the servers, {path}, holds no share.')
        return
    parts = len(view.groups.charged(path))
    yield findings.ok(
        'capacity.servers', f'The group of the servers, {path}, holds '
        f'{_shares(view, group)}, for {words.count(parts, "group")} '
        f'below it.')


def foreign_groups(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether other groups hold shares that servers could have."""
    if view.groups is None or view.interface is None:
        return
    holders = [group for group in view.groups.charged('/')
               if not (group.path + '/').startswith(
                   view.groups.partition + '/')]
    if not holders:
        yield findings.ok('capacity.others',
                          'No group besides the group of the servers holds a '
                          'share.')
        return
    text = findings.first_few([f'{group.path} {_shares(view, group)}'
                               for group in holders])
    yield findings.warning(
        'capacity.others', f'Other groups hold shares that servers cannot '
        f'have: {text}.', release(view, view.interface))


def release(view: doctor_view.View, interface: base.KernelInterface) -> str:
    """Returns a remedy: how to take back the share of another group."""
    wait = (f', note the dl_task_timer entries that {timers.PATH} then shows, '
            'wait until all of these entries are gone (if the budget is set '
            'to zero earlier, the kernel may '
            'panic)' if interface.fragile else '')
    value = 'max 0' if interface.inherits else '0'
    return (f'If these groups should not hold a share, end their real-time '
            f'tasks{wait}, then write {value} to their '
            f'{view.detection.file}.')


def unreadable(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the budgets of all groups can be understood."""
    if view.groups is not None and view.groups.unreadable:
        yield findings.problem(
            'capacity.unreadable', f'The budgets of groups cannot be read or '
            f'understood: {findings.first_few(view.groups.unreadable)}.',
            'Look at the files of these groups: nova-rt may not know this '
            'kernel.')


def _shares(view: doctor_view.View, group: kernel_groups.Group) -> str:
    return findings.shares(group.state.ppm, view.host.possible)


CHECKS: dict[str, doctor_view.Check] = {
    'capacity.offered': total,
    'capacity.root': root,
    'capacity.servers': servers,
    'capacity.others': foreign_groups,
    'capacity.unreadable': unreadable,
}
