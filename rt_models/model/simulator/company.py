# SPDX-License-Identifier: Apache-2.0

"""Simulates servers on one CPU by the rule of any kernel."""

from collections.abc import Sequence
import dataclasses
import math

from nova_rt.rules import exception
from rt_models.model import kernel as rt_kernel
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks as rt_ticks


def simulate(kernel: rt_kernel.Kernel, servers: Sequence[cpu.Station],
             until_us: float = math.inf) -> list[cpu.Trace]:
    """Runs *servers* as *kernel* does and returns their traces.

    :raises InvalidLoad: when their shares add up to more than 1, or the
        kernel cannot give each server its runtime in its period
    """
    ticks = rt_ticks.Ticks(kernel.tick_us) if kernel.at_ticks else None
    if kernel.rule is not rt_kernel.Rule.RT_GROUP_SCHED or ticks is None:
        return cbs.simulate(servers, ticks, until_us)
    rule = kernel.fixed_priorities
    reservations = [server.reservation for server in servers]
    if not rule.holds(reservations):
        raise exception.InvalidLoad(
            name='set of reservations on one CPU',
            value=', '.join(f'{each.runtime_us}/{each.period_us}'
                            for each in reservations),
            rule=f'{kernel.rule} cannot give each server its runtime in its '
            'period; use less runtime, or another pCPU')
    return rt_group.simulate(
        [dataclasses.replace(server, priority=rule.level(
            server.reservation.period_us)) for server in servers],
        ticks, until_us=until_us)
