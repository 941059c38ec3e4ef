# SPDX-License-Identifier: Apache-2.0

"""How finely the kernel charges, and what may be sold."""

from collections.abc import Iterator

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import ticks
from rt_operate.doctor.checks import deadline_servers
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_DEADLINE_MIN = '/proc/sys/kernel/sched_deadline_period_min_us'


def hrtick(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Mainline groups are charged at ticks, whatever the timer."""
    if not view.by_timer:
        return
    name = 'timing.hrtick'
    fine = ticks.high_resolution(view.host)
    if fine:
        yield findings.ok(name, 'Run time is charged by a timer (HRTICK).')
    elif fine is None:
        yield deadline_servers.unseen(
            view, name, 'Whether HRTICK is on', _why_unread(view.host))
    else:
        yield findings.warning(
            name, 'HRTICK is off: run time is charged at ticks of '
            f'{ticks.tick_us()} us, and a server may overrun by one.',
            _turn_on(view.host))


def tick(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.detection.name is None or (
            view.by_timer and ticks.high_resolution(view.host)):
        return
    length = ticks.tick_us()
    options = view.options
    name = 'timing.tick'
    text = f'Run time is charged at ticks of {length} us'
    if options.min_runtime_us >= length:
        yield findings.ok(name, f'{text}, within the shortest runtime '
                                f'allowed, {options.min_runtime_us} us.')
        return
    short = [f'runtime ({options.min_runtime_us})']
    if options.min_period_us < length:
        short.append(f'period ({options.min_period_us})')
    refused = view.interface is not None and view.interface.fragile
    yield findings.warning(
        name, f'{text}, longer than the shortest {" and ".join(short)} '
        f'allowed: such servers '
        + ('are refused on this host, which could panic.' if refused else
           'get their share in the long run only, a whole tick at a time.'),
        f'Set [nova_rt] min_runtime_us = {length} on nova-api, '
        f'nova-scheduler and nova-compute, or sell no shorter ones.')


def limits(view: doctor_view.View) -> Iterator[findings.Finding]:
    """What the API lets pass must not fail at the kernel."""
    kernel = view.interface
    if kernel is None:
        return
    period = kernel.min_period_us
    # A kernel that has a least period checks the sysctl, where it is there.
    if kernel.deadline_servers and period > 1 and (
            view.host.optional(_DEADLINE_MIN) is not None):
        period = view.host.number(_DEADLINE_MIN)
    for name, own, least in (
            ('runtime', view.options.min_runtime_us, kernel.min_runtime_us),
            ('period', view.options.min_period_us, period)):
        if own < least:
            yield findings.warning(
                f'timing.min_{name}', f'[nova_rt] min_{name}_us is {own}, '
                f'and the kernel takes no {name} below {least}.',
                f'Set it to {least}.')


def _turn_on(host: host_files.Host) -> str:
    """Before 5.13 the file has another place, before 5.12 one name."""
    for path in ticks.FEATURES:
        text = host.optional(path)
        if text is not None:
            name = 'HRTICK_DL' if 'HRTICK_DL' in text else 'HRTICK'
            return f'echo {name} > {path}'
    return ''


def _why_unread(host: host_files.Host) -> str:
    path = ticks.FEATURES[0]
    return deadline_servers.blind(host, path) or f'{path} is not there'


CHECKS: dict[str, doctor_view.Check] = {
    'timing.hrtick': hrtick,
    'timing.tick': tick,
    'timing.limits': limits,
}
