# SPDX-License-Identifier: Apache-2.0

"""From requests and a target to a reservation, the period included."""

import dataclasses
import math

from nova_rt import exception
from nova_rt.model import exact
from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt import reservation as rt_reservation

#: To choose from.  Below 1 ms "excessive overheads" (paper, section 4.2.1).
PERIODS_US = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """What a reservation is wanted for.

    :param load: of each vCPU
    :param max_share: of a pCPU, for each vCPU
    :param overhead_us: what each period loses of the runtime
    """

    load: rt_load.Load
    target: rt_load.Target
    network: rt_load.Network = rt_load.NO_NETWORK
    max_share: float = 1.0
    overhead_us: float = 0.0


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
    :param fluid: by the equations of the paper, not by ``exact``
    :raises InvalidLoad: a part of the question makes no sense
    :raises NoAnswer: there is none
    """
    if period_us is None:
        period_us = choose_period_us(question)
    if fluid:
        paper.refuse_overhead(question.overhead_us)
        runtime = paper.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network)
    else:
        runtime = exact.smallest_runtime_us(
            question.load, question.target, period_us, question.max_share,
            question.network, question.overhead_us)
    return rt_reservation.Reservation(runtime, period_us)


def choose_period_us(question: Question) -> int:
    """The period that costs the smallest share.

    A long period delays more where other reservations share the CPU
    (``contended``), a short one costs more overhead.  This takes the one of
    PERIODS_US that needs the smallest share for the target to hold whatever
    else runs on the CPU, overhead included; the shortest where none can.
    """
    return min(PERIODS_US, key=lambda period: (
        _contended_share(question, period), period))


def _contended_share(question: Question, period_us: int) -> float:
    sure = question.target.time_us - period_us
    if sure <= 0:
        return math.inf
    try:
        runtime = paper.smallest_runtime_us(
            question.load, rt_load.Target(sure, question.target.percentile),
            period_us, network=question.network)
    except exception.NoAnswer:
        return math.inf
    return (runtime + question.overhead_us) / period_us
