# SPDX-License-Identifier: Apache-2.0

"""The kernel for which ``nova-rt plan`` and ``predict`` answer."""

import argparse

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import ticks
from rt_models.model import kernel as rt_kernel
from rt_operate.doctor import options
from rt_operate.doctor import view as doctor_view

_AUTO = 'auto'


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options ``--kernel`` and ``--tick-us``."""
    parser.add_argument(
        '--kernel', choices=(_AUTO, *rt_kernel.Rule), default=_AUTO,
        help='what enforces the reservation; auto: what this host has '
             '(default: %(default)s)')
    parser.add_argument(
        '--tick-us', type=int, metavar='US',
        help='the interval in which the kernel charges run time; 0 if a '
             'timer charges run time, without ticks '
             '(default: as on this host)')


def kernel(args: argparse.Namespace) -> tuple[rt_kernel.Kernel, str]:
    """Returns the kernel, and a sentence if this host's kernel is unknown.

    :raises InvalidLoad: when the tick is not possible with the kernel
    """
    if args.kernel == _AUTO:
        chosen, note = _here()
    else:
        chosen, note = _with_tick(rt_kernel.Rule(args.kernel)), ''
    if args.tick_us is not None:
        chosen = rt_kernel.Kernel(chosen.rule, args.tick_us)
    return chosen, note


def _here() -> tuple[rt_kernel.Kernel, str]:
    view = doctor_view.View(host_files.Host(), options.load(()))
    name = view.detection.name
    if name is None:
        reason = (view.detection.trouble
                  or 'the kernel has no interface for reservations')
        return rt_kernel.CBS, (
            'It is unknown how this host would enforce reservations '
            f'({reason}), so the answer is for {rt_kernel.CBS}.')
    if name == rt_kernel.Rule.RT_GROUP_SCHED:
        return _with_tick(rt_kernel.Rule.RT_GROUP_SCHED), ''
    # All other kernel interfaces use SCHED_DEADLINE servers inside.
    fine = ticks.high_resolution(view.host)
    if fine is None:
        return rt_kernel.CBS, (
            'It is not known whether HRTICK is on, so the answer is for '
            f'{rt_kernel.CBS}.')
    if fine:
        return rt_kernel.CBS, ''
    return _with_tick(rt_kernel.Rule.SCHED_DEADLINE), ''


def _with_tick(rule: rt_kernel.Rule) -> rt_kernel.Kernel:
    """Returns a kernel that enforces by this rule, with this host's tick."""
    return rt_kernel.Kernel(
        rule, 0 if rule is rt_kernel.Rule.CBS else ticks.tick_us())
