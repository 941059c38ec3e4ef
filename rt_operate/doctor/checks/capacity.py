# SPDX-License-Identifier: Apache-2.0

"""How much may be reserved, and who holds it."""

from collections.abc import Iterator
import dataclasses
import functools

from nova_rt.machine.host import timers
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import groups as kernel_groups
from rt_operate.doctor.checks import deadline
from rt_operate.doctor.checks import interrupts
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """ppm that servers may have in all.

    :ivar ppm: None without an interface, or where it cannot be told
    :ivar trouble: why it cannot
    """

    ppm: int | None
    trouble: str = ''


@functools.lru_cache(maxsize=1)
def offered(view: doctor_view.View) -> Offer:
    """What a report says, once: it may be another one a moment later."""
    try:
        return Offer(_offered(view))
    except Exception as error:
        # Whatever it is: it is told, and not raised in the summary.
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
    name = 'capacity.offered'
    offer = offered(view)
    ppm = offer.ppm
    if offer.trouble:
        yield findings.problem(
            name, f'Nothing can be reserved: {offer.trouble}.',
            'Correct what is named there.')
        return
    if ppm is None:
        return
    if ppm:
        scope = ('by all servers together, however many pCPUs they are on'
                 if view.interface and view.interface.replicated
                 else 'on each pCPU')
        yield findings.ok(
            name, f'{findings.share(ppm)} may be reserved {scope}'
            f'{_left(view, ppm)}{_below(view)}.')
    elif view.groups is not None and not view.groups.root.budget:
        yield findings.warning(
            name, 'The root group has nothing to hand out yet.',
            'Start nova-compute, which gives it a share.')
    else:
        yield findings.problem(
            name, 'Nothing can be reserved: others hold all of it.',
            'Take from them what they need not have.')


def _left(view: doctor_view.View, ppm: int) -> str:
    """What the servers that run leave of it."""
    if view.groups is None or view.interface is None:
        return ''
    held = [group.held.ppm for group
            in view.groups.charged(view.groups.partition)]
    left = max(0, ppm - max(map(sum, zip(*held, strict=True)), default=0))
    where = '' if view.interface.replicated else ' on the fullest'
    return f'; {findings.share(left)} of it is left{where}'


def _below(view: doctor_view.View) -> str:
    """Who has what they leave."""
    if not interrupts.exposed(view):
        return ''
    return f'; interrupts wait for them there ({interrupts.THREADS})'


def root(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.groups is not None and view.groups.root.budget:
        yield findings.ok(
            'capacity.root', f'The root group hands out '
            f'{_shares(view, view.groups.root)}.')


def servers(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.groups is None:
        return
    path = view.groups.partition
    group = view.groups.get(path)
    if group is None or not group.budget:
        yield findings.ok('capacity.servers',
                          f'The group of the servers, {path}, holds nothing.')
        return
    parts = len(view.groups.charged(path))
    yield findings.ok(
        'capacity.servers', f'The group of the servers, {path}, holds '
        f'{_shares(view, group)}, for {findings.count(parts, "group")} '
        f'below it.')


def others(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Whoever takes from what servers could have."""
    if view.groups is None or view.interface is None:
        return
    held = [group for group in view.groups.charged('/')
            if not (group.path + '/').startswith(
                view.groups.partition + '/')]
    if not held:
        yield findings.ok('capacity.others', 'No other group holds a share.')
        return
    text = findings.some([f'{group.path} {_shares(view, group)}'
                          for group in held])
    yield findings.warning(
        'capacity.others', f'Other groups hold shares that servers cannot '
        f'have: {text}.', release(view, view.interface))


def release(view: doctor_view.View, interface: base.KernelInterface) -> str:
    """How to take a share from a group whose tasks are not wanted."""
    wait = (f', wait until {timers.PATH} shows no dl_task_timer that was '
            f'there then (zeroed earlier, the kernel may panic)'
            if interface.fragile else '')
    value = 'max 0' if interface.inherits else '0'
    return (f'If that is not wanted, end their real-time tasks{wait}, then '
            f'write {value} to {view.detection.file}.')


def unreadable(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.groups is not None and view.groups.unreadable:
        yield findings.problem(
            'capacity.unreadable', f'Groups show what cannot be read: '
            f'{findings.some(view.groups.unreadable)}.',
            'Look at their files: this kernel may be none of those that '
            'are known.')


def _shares(view: doctor_view.View, group: kernel_groups.Group) -> str:
    return findings.shares(group.held.ppm, view.host.possible)


CHECKS: dict[str, doctor_view.Check] = {
    'capacity.offered': total,
    'capacity.root': root,
    'capacity.servers': servers,
    'capacity.others': others,
    'capacity.unreadable': unreadable,
}
