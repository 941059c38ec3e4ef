# SPDX-License-Identifier: Apache-2.0

"""Fig. 8 as in the paper: Kamailio and MariaDB register what SIPp asks for.
"""

from collections.abc import Iterator, Sequence
import contextlib

import numpy as np

from experiments import bench
from experiments import fig8
from experiments import group
from experiments import isolation
from experiments import samples
from experiments import scheduling
from experiments.sip import client as sip_client
from experiments.sip import registrar


class Registrar:
    """See isolation.Server.

    Several processes share the reservation, so it is that of a group.
    """

    def __init__(self, settings: bench.Settings) -> None:
        self._effort = settings.effort

    @contextlib.contextmanager
    def running(self, scheduler: str) -> Iterator[Sequence[str]]:
        cpu = scheduling.SERVER_CPU
        with contextlib.ExitStack() as stack:
            if scheduler == 'fair':
                stack.enter_context(registrar.running(cpu))
            else:
                enter = stack.enter_context(group.reserved(
                    fig8.RESERVATION, cpu))
                for process in stack.enter_context(registrar.running(cpu)):
                    enter(process)
            yield (*scheduling.BESIDE, str(scheduling.CLIENT_CPU))

    def measure(self, client: Sequence[str], title: str
                ) -> list[samples.Floats]:
        effort = self._effort
        return [sip_client.register(
            effort.warm_up + effort.requests, client)[effort.warm_up:]
            for _ in range(effort.seeds)]


def run(settings: bench.Settings) -> str:
    """Measure the four cases; returns a table."""
    cases = isolation.run(Registrar(settings))
    for case, runs in cases.items():
        for number, times in enumerate(runs, 1):
            np.savetxt(
                settings.directory / f'{isolation.name(*case)}-{number}.csv',
                times, fmt='%.0f', header='round_trip_us', comments='')
    isolation.plot(cases, settings.directory / 'fig8-sip.png')
    return isolation.table(cases)
