# SPDX-License-Identifier: Apache-2.0

"""Plans a reservation, with its period, for requests and a target."""

import dataclasses
import math

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import simulated

#: The periods to choose from.  Below 1 ms, the paper found "excessive
#: overheads" (section 4.2.1).
PERIODS_US = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
#: The least cost of a period, two switches and a timer, which counts when a
#: period is chosen.
LEAST_OVERHEAD_US = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """The requirements for a reservation.

    :param load: the requests to each vCPU
    :param max_share: the largest share of a pCPU for each vCPU
    :param overhead_us: the part of the runtime that each period loses
    :param kernel: the kernel that runs the server
    :param alone: whether no other server has a reservation on the pCPU
    """

    load: rt_load.Load
    target: rt_load.Target
    network: rt_load.Network = rt_load.NO_NETWORK
    max_share: float = defaults.MAX_SHARE
    overhead_us: float = 0.0
    kernel: rt_kernel.Kernel = rt_kernel.CBS
    alone: bool = False


def split(load: rt_load.Load, vcpus: int) -> rt_load.Load:
    """Returns the requests to one of several vCPUs, each with its own queue.

    Requests go to the vCPUs independently and with equal probability, like the
    requests of many flows that are hashed to queues.  With one queue for all
    vCPUs, requests would only be faster.

    :raises InvalidLoad: when the number of vCPUs is not positive
    """
    if vcpus < 1:
        raise exception.InvalidLoad(name='number of vCPUs', value=vcpus,
                                    rule='it must be positive')
    return rt_load.Load(load.arrival_rate_hz / vcpus, load.service_rate_hz)


def plan(question: Question, period_us: int | None = None,
         fluid: bool = False) -> rt_reservation.Reservation:
    """Returns the reservation with the smallest runtime for the target.

    :param period_us: the period; None: the function chooses one
    :param fluid: whether to use the equations of the paper, which ignore
        other servers on the pCPU
    :raises InvalidLoad: when a number is out of range, or the kernel does not
        keep the period
    :raises NoAnswer: when no reservation meets the target
    """
    if fluid:
        paper.refuse_overhead(question.overhead_us)
    if period_us is None:
        period_us = choose_period_us(question)
    question.kernel.check_period(period_us)
    if fluid:
        runtime = paper.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network)
    elif question.alone and question.kernel.at_ticks:
        runtime = simulated.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network, question.overhead_us, question.kernel)
    else:
        runtime = _equation(question, period_us)
    return rt_reservation.Reservation(runtime, period_us)


def choose_period_us(question: Question) -> int:
    """Returns the period that needs the smallest share, with its overhead.

    The function chooses among those periods of PERIODS_US that the kernel
    keeps.  Beside other servers, a long period delays more (``contended``),
    and a short one costs more overhead.  For a server alone on its pCPU a long
    period may cost less.  The function then chooses as for a hard CBS,
    whatever the kernel is.  If no period meets the target, the shortest one is
    returned.
    """
    costly = dataclasses.replace(question, overhead_us=max(
        question.overhead_us, LEAST_OVERHEAD_US))
    periods = [period for period in PERIODS_US
               if period >= question.kernel.shortest_period_us]
    return min(periods or [question.kernel.shortest_period_us],
               key=lambda period: (_share(costly, period), period))


def _share(question: Question, period_us: int) -> float:
    try:
        return _equation(question, period_us) / period_us
    except exception.NoAnswer:
        return math.inf


def _equation(question: Question, period_us: int) -> int:
    """Returns the smallest runtime by a model that needs no simulation."""
    if not question.alone:
        return contended.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network, question.overhead_us, question.kernel)
    return exact.smallest_runtime_us(
        question.load, question.target, period_us, question.max_share,
        question.network, question.overhead_us)
