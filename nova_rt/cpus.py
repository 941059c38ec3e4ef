# SPDX-License-Identifier: Apache-2.0

"""Which pCPU has how much bandwidth left, and does a request fit.

The one accounting and the one fit function: the scheduler filter, the claim
on the compute node and the command line all call :func:`fit`.  Amounts are
integers in ppm of one pCPU (``reservation.PPM``), so sums are exact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import dataclasses
from typing import Self

#: choose(eligible, used, count): *count* of the *eligible* pCPUs (ascending
#: ids, each with room), given the ppm *used* on each.
Policy = Callable[[Sequence[int], Mapping[int, int], int], tuple[int, ...]]


@dataclasses.dataclass(frozen=True, slots=True)
class CpuBandwidth:
    """Bandwidth claimed on the pCPUs of one host.

    :ivar cpus: ids of the pCPUs that may be claimed, ascending
    :ivar cap: ppm of each pCPU that claims may use
    :ivar used: ppm claimed, by pCPU id; may name pCPUs outside *cpus* (an
        operator took them out while servers run) and may exceed *cap* (an
        operator lowered it)
    :ivar charged: sum of the bandwidth of all claims, each counted once
    :ivar replicated: the kernel grants a runtime on every pCPU, whatever the
        pinning, so that each claim is charged on all of them
    """

    cpus: tuple[int, ...]
    cap: int
    used: Mapping[int, int] = dataclasses.field(default_factory=dict)
    charged: int = 0
    replicated: bool = False

    def fold(self, claims: Iterable[tuple[Sequence[int], int]]) -> Self:
        """The state with all *claims* added: (pCPU ids, ppm on each).

        Does not ask whether they fit: a fold over existing claims must
        always succeed.  :func:`fit` is the admission.
        """
        used = dict(self.used)
        charged = self.charged
        for cpus, bandwidth in claims:
            charged += bandwidth
            for cpu in cpus:
                used[cpu] = used.get(cpu, 0) + bandwidth
        return dataclasses.replace(
            self, used={cpu: ppm for cpu, ppm in used.items() if ppm},
            charged=charged)

    def claim(self, cpus: Sequence[int], bandwidth: int) -> Self:
        """The state with *bandwidth* more on each of *cpus*."""
        return self.fold([(cpus, bandwidth)])

    def release(self, cpus: Sequence[int], bandwidth: int) -> Self:
        """The inverse of :meth:`claim`."""
        return self.fold([(cpus, -bandwidth)])

    def free(self, cpu: int) -> int:
        """ppm left on *cpu*; negative where the cap was lowered."""
        taken = self.charged if self.replicated else self.used.get(cpu, 0)
        return self.cap - taken

    @property
    def total(self) -> int:
        """ppm that claims may use on all pCPUs together."""
        return self.cap * len(self.cpus)

    @property
    def total_used(self) -> int:
        """ppm out of *total* that is gone."""
        if self.replicated:
            return self.charged * len(self.cpus)
        return sum(self.used.get(cpu, 0) for cpu in self.cpus)


def fit(state: CpuBandwidth, vcpus: int, bandwidth: int, policy: Policy
        ) -> tuple[int, ...] | None:
    """Choose a distinct pCPU for each vCPU (paper section 5.2).

    :param vcpus: number of vCPUs
    :param bandwidth: ppm that each of them needs
    :param policy: picks among the pCPUs that have room
    :returns: pCPU ids in the order chosen, or None where it does not fit
    """
    if state.replicated:
        room = state.charged + bandwidth <= state.cap
        eligible: Sequence[int] = state.cpus if room else ()
    else:
        limit = state.cap - bandwidth
        used = state.used.get
        eligible = [cpu for cpu in state.cpus if used(cpu, 0) <= limit]
    if len(eligible) < vcpus:
        return None
    return policy(eligible, state.used, vcpus)
