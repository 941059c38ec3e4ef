# SPDX-License-Identifier: Apache-2.0

"""Counts how many more servers of one kind a host has room for."""

import collections
from collections.abc import Iterable

from nova_rt.rules import cpus
from nova_rt.rules import division
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

#: A host is not filled any further, if its rule makes that slow.
_ENOUGH = 1000


def count(state: cpus.CpuBandwidth, vcpus: int,
          wanted: reservation.Reservation) -> int:
    """Returns how many servers fit, one after the other.

    The result holds for the packing policy worst_fit; with another policy
    fewer servers may fit, because each vCPU of a server needs another pCPU.

    :param vcpus: the number of vCPUs of each server
    :param wanted: the reservation of each vCPU
    """
    if vcpus < 1 or not cpus.fits(state, vcpus, wanted):
        return 0
    if state.rule is not None:
        return _filled(state, vcpus, wanted)
    if state.replicated:
        return (state.cap - state.charged) // wanted.bandwidth
    return _packed([(max(0, free) // wanted.bandwidth, threads)
                    for free, threads in _pools(state)], vcpus)


def sold(state: cpus.CpuBandwidth) -> str:
    """Returns, for an operator, how much of the CPUs may be reserved."""
    cap = reservation.decimal(state.cap)
    if not state.replicated:
        return f'reservations may use {cap} of each pCPU'
    return (f'this kernel charges each server on every pCPU, so that servers '
            f'may reserve {cap} of a CPU in all, and '
            f'{reservation.decimal(state.charged)} is taken')


def _pools(state: cpus.CpuBandwidth) -> Iterable[tuple[int, int]]:
    """Returns the free ppm and the number of pCPUs of each pool.

    If the threads of a core count together, a core is one pool of several
    pCPUs.
    """
    if not state.counts_cores:
        return [(state.free(cpu), 1) for cpu in state.cpus]
    used = collections.Counter[int]()
    for core, ppm in zip(state.cores, state.used, strict=True):
        used[core] += ppm
    return [(state.cap - used[core], threads) for core, threads
            in collections.Counter(state.cores).items()]


def _packed(columns: list[tuple[int, int]], width: int) -> int:
    """Returns how many rows of *width* cells can be cut from columns.

    *k* rows can be cut if and only if the cells that the columns have for
    *k* rows are enough.

    :param columns: the cells of each column, and how many of them one row
        may take
    """
    low, high = 0, sum(cells for cells, _ in columns) // width
    while low < high:
        rows = (low + high + 1) // 2
        cells = sum(min(cells, rows * most) for cells, most in columns)
        if cells >= rows * width:
            low = rows
        else:
            high = rows - 1
    return low


def _filled(state: cpus.CpuBandwidth, vcpus: int,
            wanted: reservation.Reservation) -> int:
    """Returns the number of servers by placing one after the other."""
    for placed in range(_ENOUGH):
        chosen = cpus.fit(state, vcpus, wanted, policies.worst_fit)
        if chosen is None:
            return placed
        state = state.claim(chosen, division.divided(
            wanted, cpus.divisor(state, chosen, wanted)))
    return _ENOUGH
