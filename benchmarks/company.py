# SPDX-License-Identifier: Apache-2.0

"""Tests reservations that share a pCPU: plans, predictions, admission cost.

Run it as ``python -m benchmarks.company [--quick] [--capacity]``.  The exit
status is 1 if a requirement is missed.
"""

import argparse
from collections.abc import Sequence
import itertools
import random
import statistics
import sys

import numpy as np

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import planner
from rt_models.model import simulated
from rt_models.model.simulator import company as simulation
from rt_models.model.simulator import cpu
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic
from tests.unit.rt_models.model.simulator import company

#: of [nova_rt] min_divided_runtime_us, to divide claims
MIN_DIVIDED_US = 100
TICK_US = 4000
KERNELS = (rt_kernel.CBS,
           rt_kernel.Kernel(rt_kernel.Rule.RT_GROUP_SCHED, TICK_US))
TARGETS, LEAST_MET = 200, 0.99
MOST_MEAN, MOST_P99 = 0.03, 0.05
SETS = 300
_SHORTEST_US = 10_000
SHORTEST_US = (10_000, 100_000)


def questions(draw: random.Random, kernel: rt_kernel.Kernel, count: int
              ) -> list[tuple[planner.Question,
                              rt_reservation.Reservation]]:
    """Yields random loads, targets that can be met, and their plans."""
    answered: list[tuple[planner.Question,
                         rt_reservation.Reservation]] = []
    while len(answered) < count:
        share, used = draw.uniform(0.1, 0.8), draw.uniform(0.2, 0.85)
        length_us = 10_000 * 0.05 * 400 ** draw.random()
        rate = rt_load.US_PER_S / length_us
        mean_us = length_us / share / (1 - used)
        target = rt_load.Target(
            mean_us * draw.uniform(1, 8) + draw.uniform(0, 50_000),
            draw.choice((None, 0.9, 0.95, 0.99)))
        question = planner.Question(
            rt_load.Load(used * share * rate, rate), target, kernel=kernel)
        try:
            answered.append((question, planner.plan(question)))
        except exception.NoAnswer:
            continue
    return answered


def neighbours(draw: random.Random, kernel: rt_kernel.Kernel,
               one: rt_reservation.Reservation
               ) -> list[rt_reservation.Reservation]:
    """Returns neighbours that fill the pCPU as far as admission allows."""
    rule = (kernel.fixed_priorities
            if kernel.rule is rt_kernel.Rule.RT_GROUP_SCHED else None)
    admits = company.Kernel('', kernel.tick_us, rule).admits
    shaped = company.shape(draw, max(_SHORTEST_US,
                                     kernel.shortest_period_us))
    room = company.largest(
        shaped, lambda others: admits([one, *others]),
        company.CAP - one.share)
    others = company.scaled(shaped, room)
    return others if admits([one, *others]) else []


def met(draw: random.Random, question: planner.Question,
        one: rt_reservation.Reservation, count: int) -> tuple[bool, float]:
    """Returns whether the target is met, and how full the pCPU is.

    Half of the neighbours are busy, half have random requests.
    """
    others = neighbours(draw, question.kernel, one)
    requests = traffic.poisson(question.load, count, draw.getrandbits(32))
    until = float(requests.arrivals_us[-1])
    servers = [cpu.Station(one, requests), *(
        cpu.Station(other, draw.choice((
            traffic.busy(), company.random_requests(draw, other, until))))
        for other in others)]
    times = simulation.simulate(
        question.kernel, servers, until)[0].responses_us
    # An unfinished request counts with the time that it has waited.
    times = np.minimum(times, until - requests.arrivals_us)
    # The random error of the fluid queue, which is known, is not a miss.
    fluid = lone.responses_us(traffic.Arrivals(
        requests.arrivals_us, requests.works_us / one.share), 1.0, 1.0)
    model = paper.RoundTrip(question.load, one)
    part = question.target.percentile
    chance = (fluid.mean() - model.mean_us if part is None
              else np.quantile(fluid, part) - model.percentile_us(part))
    reached = times.mean() if part is None else np.quantile(times, part)
    return (bool(reached - chance <= question.target.time_us),
            one.share + sum(other.share for other in others))


def targets(count: int, requests: int) -> bool:
    """Tests plans beside neighbours that fill the pCPU."""
    good = True
    for kernel in KERNELS:
        draw = random.Random(1)  # noqa: S311
        results = [met(draw, question, one, requests)
                   for question, one in questions(draw, kernel, count)]
        hits = sum(hit for hit, _ in results)
        full = statistics.mean(share for _, share in results)
        print(f'{kernel.rule}: {hits} of {count} targets are met; the '
              f'pCPU is reserved to {full:.2f} on average', flush=True)
        good &= hits >= LEAST_MET * count
    return good


def predictions(requests: int) -> bool:
    """Compares ``simulated`` for a lone server with longer runs."""
    kernel, errors = KERNELS[1], []
    for period in (10_000, 100_000):
        for share in (0.3, 0.6):
            for used in (0.5, 0.85):
                for length in (0.05, 1):
                    errors.append(_errors(kernel, period, share, used,
                                          length, requests))
                    print(f'{period:7} {share:4} {used:5} {length:5} | '
                          + ' '.join(f'{100 * one:7.2f}'
                                     for one in errors[-1]), flush=True)
    worst = [max(map(abs, column)) for column in zip(*errors, strict=True)]
    print(f'{kernel.rule}: predictions are off by {worst[0]:.2%} (mean) and '
          f'{worst[1]:.2%} (p99) at most')
    return bool(worst[0] <= MOST_MEAN and worst[1] <= MOST_P99)


def _errors(kernel: rt_kernel.Kernel, period: int, share: float,
            used: float, length: float, requests: int
            ) -> tuple[float, float]:
    one = rt_reservation.Reservation(round(share * period), period)
    rate = rt_load.US_PER_S / (length * period)
    load = rt_load.Load(used * share * rate, rate)
    trip = simulated.predict(load, one, kernel=kernel)
    sent = traffic.poisson(load, requests, 4711)
    times = simulation.simulate(
        kernel, [cpu.Station(one, sent)])[0].responses_us
    # As in ``met``, but with a lone hard CBS server.
    model = exact.predict(load, one)
    control = lone.responses_us(sent, one.runtime_us, one.period_us)
    mean = times.mean() - control.mean() + model.mean_us
    p99 = (np.quantile(times, 0.99) - np.quantile(control, 0.99)
           + model.percentile_us(0.99))
    return trip.mean_us / mean - 1, trip.percentile_us(0.99) / p99 - 1


def capacity(count: int) -> None:
    """Compares the largest admitted sets with those under EDF.

    Each set is admitted undivided, and divided for the kernel.
    """
    for tick, shortest in itertools.product((1000, TICK_US), SHORTEST_US):
        for size in (1, 2, 4, 8):
            draw = random.Random(2)  # noqa: S311
            shapes = [company.shape(draw, shortest) for _ in range(count)]
            for least_us in (0, MIN_DIVIDED_US):
                kernel = company.fixed_priorities(tick, least_us)
                print(f'tick {tick} us, periods from {shortest} us, {size} '
                      f'pCPU, {"divided" if least_us else "undivided"}: '
                      + _ratios(kernel, size, shapes), flush=True)


def _ratios(kernel: company.Kernel, size: int,
            shapes: Sequence[company.Shape]) -> str:
    ratios: dict[str, list[float]] = {}
    for shaped in shapes:
        ratios.setdefault(_kind(shaped[0]), []).append(company.largest(
            shaped, lambda wanted: kernel.in_kernel(wanted, size) is not None
        ) / company.CAP)
    return ', '.join(f'{kind} {statistics.mean(values):.3f}'
                     for kind, values in sorted(ratios.items()))


def _kind(periods: list[int]) -> str:
    if len(set(periods)) == 1:
        return 'equal'
    short = min(periods)
    harmonic = all(one % short == 0 for one in periods)
    return 'harmonic' if harmonic else 'random'


def main() -> int:
    """Runs all tests and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--quick', action='store_true',
                        help='test fewer targets, sets and requests')
    parser.add_argument('--capacity', action='store_true',
                        help='only compare the admitted sets with EDF')
    args = parser.parse_args()
    quick = args.quick
    if args.capacity:
        capacity(SETS // 5 if quick else SETS)
        return 0
    good = targets(TARGETS // 10 if quick else TARGETS,
                   2_500 if quick else 10_000)
    good &= predictions(1_000_000)
    capacity(SETS // 5 if quick else SETS)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
