# SPDX-License-Identifier: Apache-2.0

"""From requests and a target to a reservation, the period included."""

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

#: To choose from.  Below 1 ms "excessive overheads" (paper, section 4.2.1).
PERIODS_US = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
#: What a period costs at least, two switches and a timer, where one is
#: chosen.
_LEAST_OVERHEAD_US = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """What a reservation is wanted for.

    :param load: of each vCPU
    :param max_share: of a pCPU, for each vCPU
    :param overhead_us: what each period loses of the runtime
    :param kernel: what runs the server
    :param alone: nobody else has a reservation on its pCPU
    """

    load: rt_load.Load
    target: rt_load.Target
    network: rt_load.Network = rt_load.NO_NETWORK
    max_share: float = defaults.MAX_SHARE
    overhead_us: float = 0.0
    kernel: rt_kernel.Kernel = rt_kernel.CBS
    alone: bool = False


def split(load: rt_load.Load, vcpus: int) -> rt_load.Load:
    """The requests of one of several vCPUs, each with its own queue.

    Requests go to vCPUs independently and with equal chance, as those of
    many flows do that are hashed to queues.  One queue for all vCPUs would
    only be faster.

    :raises InvalidLoad: no positive number of vCPUs
    """
    if vcpus < 1:
        raise exception.InvalidLoad(name='number of vCPUs', value=vcpus,
                                    rule='it must be positive')
    return rt_load.Load(load.arrival_rate_hz / vcpus, load.service_rate_hz)


def plan(question: Question, period_us: int | None = None,
         fluid: bool = False) -> rt_reservation.Reservation:
    """The reservation with the smallest runtime that meets the target.

    :param period_us: None: choose one
    :param fluid: by the equations of the paper, which know no company
    :raises InvalidLoad: a part of the question makes no sense, or the
        kernel does not keep such a period
    :raises NoAnswer: there is none
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
    """The period that costs the smallest share, overhead included.

    Out of PERIODS_US those that the kernel keeps.  In company a long period
    delays more (``contended``), a short one costs more overhead.  Alone, a
    long one may cost less; it is chosen for hard CBS, whatever the kernel.
    The shortest where no period will do.
    """
    costly = dataclasses.replace(question, overhead_us=max(
        question.overhead_us, _LEAST_OVERHEAD_US))
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
    """The runtime that needs no simulation to be told."""
    if not question.alone:
        return contended.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network, question.overhead_us, question.kernel)
    return exact.smallest_runtime_us(
        question.load, question.target, period_us, question.max_share,
        question.network, question.overhead_us)
