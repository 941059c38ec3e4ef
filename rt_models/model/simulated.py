# SPDX-License-Identifier: Apache-2.0

"""Response times by simulation, where no equation is known.

No equation is known for kernels that charge at ticks, or for servers beside
known neighbours.  The same requests also pass a hard CBS server alone on its
pCPU, whose true distribution ``exact`` knows.  The random error of that server
is subtracted from the result.  The same input always gives the same result.
"""

from collections.abc import Sequence

import numpy as np

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import search
from rt_models.model.simulator import company
from rt_models.model.simulator import cpu
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic

#: The number of independent runs, the most requests in a run, and the fewest
#: where the servers cause many events between requests.
RUNS, REQUESTS, _FEWEST = 10, 30_000, 500
#: The number of runs in a search, which simulates a dozen times.
_FEW_RUNS = 4
#: The number of events in a run that limits its requests.
_EVENTS = 100_000
#: A search finds a runtime to one of this many parts of the period.
_STEPS = 1000
#: The largest percentile.  Above it, too few requests are simulated.
MOST_PERCENTILE = 0.9995
#: The part of each run that is dropped, because the run starts with an empty
#: queue.
_WARM_UP = 0.1


def predict(load: rt_load.Load, reservation: rt_reservation.Reservation,
            network: rt_load.Network = rt_load.NO_NETWORK,
            overhead_us: float = 0.0,
            kernel: rt_kernel.Kernel = rt_kernel.CBS,
            beside: Sequence[rt_reservation.Reservation] = (),
            runs: int = RUNS) -> 'RoundTrip':
    """Returns the distribution of round trips.

    :param overhead_us: the part of the runtime that each period loses
    :param beside: the neighbours on the pCPU, which are always busy
    :param runs: the number of independent runs, each of which starts with an
        empty queue
    :raises InvalidLoad: when the overhead is not between 0 and the runtime,
        when the load is above search.MAX_UTILISATION of the rest of the
        reservation, when the kernel does not keep the reservation, or when the
        kernel cannot run all servers on one pCPU
    """
    known = exact.predict(load, reservation, network, overhead_us)
    kernel.check(reservation.runtime_us, reservation.period_us)
    count = _requests(load, [reservation, *beside])
    simulated, control = [], []
    for run in range(runs):
        requests = traffic.poisson(load, count, run)
        way_us = _way_us(load, network, count, run)
        server = cpu.Station(reservation, requests, overhead_us=overhead_us)
        simulated.append(_steady(
            way_us + _responses_us(kernel, server, beside)))
        control.append(_steady(way_us + lone.responses_us(
            requests, server.budget_us, reservation.period_us)))
    return RoundTrip(known, np.sort(np.concatenate(simulated)),
                     np.sort(np.concatenate(control)))


class RoundTrip:
    """The simulated distribution of round trips, minus its random error.

    :param known: the true distribution at a hard CBS server alone on its pCPU
    :param seen: the simulated response times in us, ascending
    :param control: the simulated response times of that hard CBS server with
        the same requests, in us, ascending
    """

    def __init__(self, known: rt_load.Prediction, simulated: numeric.Floats,
                 control: numeric.Floats) -> None:
        self._known, self._seen, self._control = known, simulated, control

    @property
    def mean_us(self) -> float:
        """E[R]."""
        return self._known.mean_us + float(
            self._seen.mean() - self._control.mean())

    def percentile_us(self, percentile: float) -> float:
        """Returns the time within which this share of all requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1, or
            above MOST_PERCENTILE
        """
        rt_load.check_percentile(percentile)
        if percentile > MOST_PERCENTILE:
            raise exception.InvalidLoad(
                name='percentile', value=percentile,
                rule='a simulation gives no percentile above '
                f'{MOST_PERCENTILE:g}; give a lower one')
        return self._known.percentile_us(percentile) + float(
            np.quantile(self._seen, percentile)
            - np.quantile(self._control, percentile))

    def survival(self, time_us: float) -> float:
        """Returns Pr[R > time]."""
        within = np.searchsorted(self._seen, time_us, side='right')
        return 1.0 - float(within) / len(self._seen)


def smallest_runtime_us(load: rt_load.Load, target: rt_load.Target,
                        period_us: int, max_share: float = 1.0,
                        network: rt_load.Network = rt_load.NO_NETWORK,
                        overhead_us: float = 0.0,
                        kernel: rt_kernel.Kernel = rt_kernel.CBS) -> int:
    """Returns the runtime, in us, that a server alone needs for the target.

    The runtime is at most a thousandth of the period above the smallest.

    :param max_share: the largest runtime over period that is allowed
    :raises InvalidLoad: when a number is out of range, or the kernel does not
        keep the period
    :raises NoAnswer: when no runtime within *max_share* meets the target
    """
    kernel.check_period(period_us)
    bounds = search.bounds_us(
        load, target, period_us, max_share, network, overhead_us,
        kernel.largest_share(period_us))
    return search.smallest_runtime_us(
        lambda runtime_us: predict(
            load, rt_reservation.Reservation(round(runtime_us), period_us),
            network, overhead_us, kernel, runs=_FEW_RUNS),
        target, bounds, period_us, search.timely,
        max(1, period_us // _STEPS))


def _requests(load: rt_load.Load,
              servers: Sequence[rt_reservation.Reservation]) -> int:
    """Returns the number of requests in a run.

    Each server causes some events in each of its periods, so short periods
    leave time for fewer requests.
    """
    between_us = rt_load.US_PER_S / load.arrival_rate_hz
    events = 2 + sum(2 * between_us / server.period_us for server in servers)
    return max(_FEWEST, min(REQUESTS, int(_EVENTS / events)))


def _way_us(load: rt_load.Load, network: rt_load.Network, count: int,
            run: int) -> numeric.Floats:
    """Returns the network's part of each round trip, as in ``tandem``."""
    random = np.random.default_rng((run, count))
    mean = rt_load.US_PER_S / (network.rate_hz - load.arrival_rate_hz)
    return np.asarray(2 * network.delay_us + mean * random.exponential(
        size=count))


def _responses_us(kernel: rt_kernel.Kernel, server: cpu.Station,
                  beside: Sequence[rt_reservation.Reservation]
                  ) -> numeric.Floats:
    """Simulates until all requests are done; neighbours are always busy."""
    requests, reservation = server.requests, server.reservation
    share = server.budget_us / reservation.period_us
    fluid = lone.responses_us(traffic.Arrivals(
        requests.arrivals_us, requests.works_us / share), 1.0, 1.0)
    until_us = float(requests.arrivals_us[-1] + fluid[-1]
                     + 2 * kernel.late_us(server.budget_us,
                                          reservation.period_us))
    return company.simulate(
        kernel, [server, *(cpu.Station(neighbour, traffic.busy())
                           for neighbour in beside)],
        until_us)[0].responses_us


def _steady(responses_us: numeric.Floats) -> numeric.Floats:
    return responses_us[int(_WARM_UP * len(responses_us)):]
