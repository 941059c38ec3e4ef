# SPDX-License-Identifier: Apache-2.0

"""Computes what soft reservations get above their runtime.

The terms come from the literature on reservations (Rajkumar and others,
"Resource kernels", 1998; Abeni and Buttazzo, "Resource reservation in dynamic
real-time systems", 2004).  A server with a *hard* reservation gets its runtime
in each period, and no more.  A server with a *soft* reservation gets at least
its runtime.

Above its runtime, a soft reservation gets the bandwidth of its pCPUs that
nobody has reserved.  nova-compute gives the kernel a longer runtime in the
same period.  All runtimes on a pCPU together stay within the cap, so that
under EDF each reservation on the pCPU is kept (Liu and Layland, 1973),
whatever the servers do.  A new reservation makes the longer runtimes shorter
before its server starts.
"""

import collections
from collections.abc import Mapping, Sequence
import enum
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation


class Kind(enum.StrEnum):
    """The kinds of reservations: only SOFT may get more than its runtime."""

    HARD = 'hard'
    SOFT = 'soft'


def is_soft(extra_specs: Mapping[str, Any]) -> bool:
    """Checks whether a flavor has a soft reservation.

    :raises InvalidReservation: when the value is unknown
    """
    value = extra_specs.get(reservation.KIND_KEY, Kind.HARD)
    if value not in list(Kind):
        raise exception.InvalidReservation(
            source=reservation.FLAVOR, key=reservation.KIND_KEY,
            value=repr(value)[:80], rule='it is not one of '
            + ', '.join(Kind), advice='give soft for servers that may use '
            'more than their runtime, or hard for servers that may not')
    return bool(value == Kind.SOFT)


def granted(state: cpus.CpuBandwidth, soft_claims: Sequence[cpus.Claim]
            ) -> list[reservation.Reservation]:
    """Returns what the kernel may grant each soft reservation of a host.

    The free bandwidth of a pCPU (of a core, if its threads count together) is
    divided equally among the vCPUs with a soft reservation there.  All vCPUs
    of a server get the same runtime, so that the fullest pCPU decides.

    :param state: the host; all claims count, also those in *soft_claims*
    :param soft_claims: the soft reservations of the host and their pCPUs
    :returns: reservations in the order of *soft_claims*, with the same
        periods; each has at least the runtime of its claim
    """
    pools = _pools(state)
    free = {pool: _free(state, pool, pools) for pool in set(pools.values())}
    soft = collections.Counter(
        pools[cpu] for ids, _ in soft_claims for cpu in ids if cpu in pools)
    return [_with(wanted, min(
        (max(0, free[pools[cpu]]) // soft[pools[cpu]] if cpu in pools else 0
         for cpu in ids), default=0)) for ids, wanted in soft_claims]


def _pools(state: cpus.CpuBandwidth) -> dict[int, int]:
    """Returns the number of the pool to which each pCPU belongs."""
    return dict(zip(state.cpus, state.cores if state.counts_cores
                    else state.cpus, strict=True))


def _free(state: cpus.CpuBandwidth, pool: int, pools: Mapping[int, int]
          ) -> int:
    """Returns the ppm that nobody has reserved in a pool."""
    return state.cap - sum(state.used_on(cpu) for cpu in state.cpus
                           if pools[cpu] == pool)


def _with(wanted: reservation.Reservation, spare: int
          ) -> reservation.Reservation:
    """Returns a reservation with *spare* ppm more, in whole microseconds."""
    runtime = ((wanted.bandwidth + spare) * wanted.period_us
               // reservation.PPM)
    return reservation.Reservation(max(wanted.runtime_us, runtime),
                                   wanted.period_us)
