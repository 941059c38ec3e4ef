# SPDX-License-Identifier: Apache-2.0

"""Fits another reservation for a server that keeps running on its host.

While the server changes from its old reservation to the new one, each of its
vCPUs has one of the two reservations.  A vCPU therefore either stays on its
pCPU, and the larger reservation counts there, or goes to a pCPU that no other
vCPU of the server has.
"""

from collections.abc import Iterable, Sequence

from nova_rt.rules import cpus
from nova_rt.rules import reservation


def fit(state: cpus.CpuBandwidth, present: Sequence[int],
        old: reservation.Reservation, wanted: reservation.Reservation,
        policy: cpus.Policy, stays: bool = False, both: bool = False
        ) -> tuple[int, ...] | None:
    """Chooses the pCPU of each vCPU: the present one if it has room.

    :param state: the host, with *old* counted on each of *present*
    :param old: as the kernel has it; see ``rules.division``
    :param present: the pCPU of each vCPU with a reservation
    :param policy: chooses among the other pCPUs with room
    :param stays: whether each vCPU must stay on its pCPU
    :param both: whether *old* continues to count, as in a resize until the
        resize is confirmed; under fixed priorities *old* and *wanted* must
        then fit together
    :returns: a pCPU for each vCPU, in the order of *present*; None if the new
        reservation does not fit
    """
    rest = without(state, present, old, both)
    for _, part in cpus.divisions(rest, wanted):
        chosen = _fit(rest, present, part, policy, stays)
        if chosen is not None:
            return chosen
    return None


def without(state: cpus.CpuBandwidth, present: Sequence[int],
            old: reservation.Reservation, both: bool = False
            ) -> cpus.CpuBandwidth:
    """Returns the host that another reservation must fit; see :func:`fit`."""
    return (state if both and state.rule is not None
            else state.release(present, old))


def _fit(rest: cpus.CpuBandwidth, present: Sequence[int],
         wanted: reservation.Reservation, policy: cpus.Policy, stays: bool
         ) -> tuple[int, ...] | None:
    room = list(cpus.room(rest, wanted))
    keep = {cpu for cpu, _ in room}.intersection(present)
    leave = len(present) - len(keep)
    if not leave:
        return tuple(present)
    # If the threads of a core count together, a vCPU that leaves would count
    # twice.
    if stays or rest.counts_cores:
        return None
    others = [pair for pair in room if pair[0] not in present]
    if len(others) < leave:
        return None
    chosen = iter(policy(others, leave))
    return tuple(cpu if cpu in keep else next(chosen) for cpu in present)


def larger(server_claims: Iterable[cpus.Claim], replicated: bool = False
           ) -> list[cpus.Claim]:
    """Returns what the claims of one server on one host take together.

    A server runs with one of its claims at any time: on a pCPU that several
    claims name, the largest of these claims counts.

    :param replicated: whether a claim is charged on every pCPU
    :returns: the claims, each with the pCPUs on which it counts
    """
    ordered = sorted(server_claims, key=lambda claim: -claim[1].bandwidth)
    if replicated:
        named = sorted({cpu for ids, _ in ordered for cpu in ids})
        return [(tuple(named), ordered[0][1])]
    counted: list[cpus.Claim] = []
    taken: set[int] = set()
    for ids, wanted in ordered:
        rest = tuple(cpu for cpu in ids if cpu not in taken)
        taken.update(rest)
        if rest:
            counted.append((rest, wanted))
    return counted
