# SPDX-License-Identifier: Apache-2.0

"""Fig. 8: Kamailio and MariaDB serve SIPp's registrations.

The neighbour has a reservation of its own.  All periods are longer than the
paper's, so that kernels that charge budgets at ticks can keep the budgets.
"""

from collections.abc import Iterator, Sequence
import contextlib
import datetime
import math
import os
import platform

import numpy as np

from paper import bench
from paper.fig8 import pairs
from paper.fig8 import places
from paper.fig8 import records
from paper import group
from paper import isolation
from paper import records as paper_records
from paper import samples
from paper import scheduling
from paper.sip import client as sip_client
from paper.sip import registrar

#: The paper's registrations every INTERVAL_MS, and the CPU that ours need.
#: The paper has 0.6, but on a shared machine the same registration sometimes
#: costs half as much again, which is more than the reservation of 0.7 gives.
PAPER_RATE, UTILISATION = 257, 0.4
_US_PER_MS = 1000
PAIR = pairs.PAIRS['slowest']


class Registrar:
    """The SIP registrar; see isolation.Server.

    Several processes share the reservation, so a group holds it.
    """

    def __init__(self, settings: bench.Settings, rate: int) -> None:
        self._effort = settings.effort
        self._rate = rate

    @contextlib.contextmanager
    def running(self, scheduler: str) -> Iterator[Sequence[str]]:
        cpu = scheduling.SERVER_CPU
        with contextlib.ExitStack() as stack:
            if scheduler == 'fair':
                stack.enter_context(registrar.running(cpu))
            else:
                enter = stack.enter_context(group.reserved(
                    PAIR.server, cpu))
                for process in stack.enter_context(registrar.running(cpu)):
                    enter(process)
            yield _client()

    def measure(self, client: Sequence[str], title: str
                ) -> list[samples.Floats]:
        effort = self._effort
        return [sip_client.register(
            effort.warm_up + effort.requests, self._rate, client)[
                effort.warm_up:] for _ in range(effort.seeds)]


def run(settings: bench.Settings) -> str:
    """Measures the four cases; returns a table."""
    rate = calibrate(settings.effort.requests)
    offered = places.Groups().check(PAIR.server, PAIR.noise)
    cases = isolation.run(Registrar(settings, rate), _noise)
    data = settings.directory / 'fig8-sip.csv'
    data.unlink(missing_ok=True)
    for case, runs in cases.items():
        for number, times in enumerate(runs):
            records.add(data, _record(case, number, times, offered, rate))
    isolation.plot(cases, settings.directory / 'fig8-sip.png')
    return (f'{isolation.table(cases)}\n{rate} registrations every '
            f'{sip_client.INTERVAL_MS} ms need {UTILISATION} of a CPU here; '
            f"the paper's machine did {PAPER_RATE}.\n")


def _record(case: tuple[str, bool], number: int, times: samples.Floats,
            offered: int, rate: int) -> records.Run:
    scheduler, noisy = case
    return records.Run(
        f'Linux {platform.release()}', places.Groups.name, 'slowest',
        scheduler, pairs.PERIODIC if noisy else pairs.NOBODY, number,
        f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%MZ}', offered,
        len(times),
        UTILISATION * sip_client.INTERVAL_MS * _US_PER_MS / rate,
        os.getloadavg()[0], math.nan,
        float(np.mean(times < pairs.GOOD_US)),
        paper_records.Summary.of(times))


def _noise(scheduler: str) -> contextlib.AbstractContextManager[None]:
    """Runs the neighbour, with a reservation if the server has one."""
    tasks = PAIR.tasks(pairs.PERIODIC)
    if scheduler == pairs.FAIR:
        return places.Fair().noise(tasks)
    return places.Groups().noise(PAIR.noise, tasks)


def calibrate(count: int) -> int:
    """Returns how many registrations every INTERVAL_MS need UTILISATION.

    The trial runs twice, because a registration needs less CPU time if there
    are more registrations at a time.

    :param count: the number of registrations of a trial
    """
    rate = PAPER_RATE // 2
    with registrar.running(scheduling.SERVER_CPU) as processes:
        for _ in range(2):
            before = registrar.busy_us(processes)
            sip_client.register(count, rate, _client())
            cost = (registrar.busy_us(processes) - before) / count
            rate = round(UTILISATION * sip_client.INTERVAL_MS
                         * _US_PER_MS / cost)
    return rate


def _client() -> Sequence[str]:
    return *scheduling.BESIDE, str(scheduling.CLIENT_CPU)
