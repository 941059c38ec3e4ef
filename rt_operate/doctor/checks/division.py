# SPDX-License-Identifier: Apache-2.0

"""Shows how nova-compute divides reservations for the kernel.

See ``rules.division``.  Which divisor a server gets depends on the servers
beside it; the finding takes an example.
"""

from collections.abc import Iterator
import dataclasses

from nova_rt.machine.kernel import base
from nova_rt.rules import cpus
from nova_rt.rules import division
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'capacity.division'
#: Two servers with this reservation are the example.
_EXAMPLE = reservation.Reservation(30_000, 100_000)
#: The value that the documentation recommends.
_GOOD_US = 100
_PER_CENT_PPM = reservation.PPM // 100


def example(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows which divisor the second of two equal servers would get."""
    if view.interface is None or view.groups is None:
        return
    limit = view.interface.capacity(view.groups.partition)
    if not limit.fixed_priorities:
        return
    least_us = view.options.min_divided_runtime_us
    rule = _rule(view, limit)
    beside = cpus.CpuBandwidth.empty(
        (0,), reservation.PPM, True, rule).claim((0,), _EXAMPLE)
    state = dataclasses.replace(
        beside, min_divided_us=least_us or _GOOD_US)
    divisor = cpus.divisor(state, (0,), _EXAMPLE)
    part = division.divided(_EXAMPLE, divisor)
    option = '[nova_rt] min_divided_runtime_us'
    text = (f'{option} is {least_us}: ' if least_us else
            f'nova-compute does not divide reservations ({option} is 0).  '
            f'With {_GOOD_US}, ')
    why = ('' if divisor == 1 else
           f', because each of the two then surely has {_left(rule, part)} '
           f'of its period left; without division, '
           f'{_left(rule, _EXAMPLE)}')
    yield findings.ok(_ID, (
        f'{text}the kernel would get {part} for a second server of '
        f'{_EXAMPLE} on a pCPU (k = {divisor}){why}.'))


def _rule(view: doctor_view.View, limit: base.Capacity
          ) -> schedulability.FixedPriorities:
    options = view.options
    # With guest_policy = none a guest may choose any priority.
    levels = (1 if options.guest_policy == 'none' else
              options.guest_priority_max - options.guest_priority + 1)
    return schedulability.FixedPriorities(levels, limit.tick_us,
                                          limit.min_period_us)


def _left(rule: schedulability.FixedPriorities,
          second: reservation.Reservation) -> str:
    """Returns the part of its period that each of both servers has left."""
    slack_ppm = rule.slack_ppm((_EXAMPLE, second))
    return ('nothing' if slack_ppm is None
            else f'{slack_ppm // _PER_CENT_PPM} %')


CHECKS: dict[str, doctor_view.Check] = {_ID: example}
