# SPDX-License-Identifier: Apache-2.0

"""Checks how finely the kernel charges run time.

No flavor may have a runtime or a period that is too short for the kernel to
charge.
"""

from collections.abc import Iterator

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import ticks
from rt_operate.doctor.checks import deadline_servers
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_DEADLINE_MIN = '/proc/sys/kernel/sched_deadline_period_min_us'


def hrtick(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether deadline servers are charged by a timer.

    Groups of a mainline kernel are charged at ticks, even with a timer.
    """
    if not view.by_timer:
        return
    name = 'timing.hrtick'
    by_timer = ticks.high_resolution(view.host)
    if by_timer:
        yield findings.ok(name, 'Run time is charged by a timer (HRTICK).')
    elif by_timer is None:
        yield deadline_servers.unseen(
            view, name, 'The state of HRTICK', _why_unread(view.host))
    else:
        yield findings.warning(
            name, 'HRTICK is off: run time is charged at ticks of '
            f'{ticks.tick_us()} us, and a server may overrun its runtime by '
            f'one tick.',
            _turn_on(view.host))


def tick(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that no reservation may have a runtime shorter than a tick."""
    if view.detection.name is None or (
            view.by_timer and ticks.high_resolution(view.host)):
        return
    length = ticks.tick_us()
    options = view.options
    name = 'timing.tick'
    text = f'Run time is charged at ticks of {length} us'
    if options.min_runtime_us >= length:
        yield findings.ok(name, f'{text}, which is not longer than the '
                                f'shortest runtime that is allowed, '
                                f'{options.min_runtime_us} us.')
        return
    short = [f'runtime ({options.min_runtime_us})']
    if options.min_period_us < length:
        short.append(f'period ({options.min_period_us})')
    refused = view.interface is not None and view.interface.fragile
    yield findings.warning(
        name, f'{text}, which is longer than the shortest '
        f'{" and ".join(short)} that is allowed: servers with less than a '
        f'tick '
        + ('are refused on this host, because the kernel could panic.'
           if refused else
           'get their share only in the long run, a whole tick at a time.'),
        f'Set [nova_rt] min_runtime_us = {length} on nova-api, '
        f'nova-scheduler and nova-compute, or sell no shorter runtimes.')


def limits(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that the kernel accepts all values that the API accepts."""
    kernel = view.interface
    if kernel is None:
        return
    period = kernel.min_period_us
    # A kernel with a shortest period takes it from the sysctl, if it has it.
    if kernel.deadline_servers and period > 1 and (
            view.host.optional(_DEADLINE_MIN) is not None):
        period = view.host.number(_DEADLINE_MIN)
    for name, own, least in (
            ('runtime', view.options.min_runtime_us, kernel.min_runtime_us),
            ('period', view.options.min_period_us, period)):
        if own < least:
            yield findings.warning(
                f'timing.min_{name}', f'[nova_rt] min_{name}_us is {own}, '
                f'but the kernel accepts no {name} below {least} us.',
                f'Set min_{name}_us to {least}.')


def _turn_on(host: host_files.Host) -> str:
    """Returns the command that turns HRTICK on; '' if there is none.

    Before Linux 5.13 the file is in another place, and before Linux 5.12
    there is no separate HRTICK_DL.
    """
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
