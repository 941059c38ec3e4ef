# SPDX-License-Identifier: Apache-2.0

"""Chooses a placement for a workload by its class, its size and the hosts.

The module follows rules, and names these rules as reasons.  It predicts
nothing.
"""

from collections.abc import Iterator
import dataclasses

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import workload
from rt_models.pinning import core_ratio
from rt_models.pinning import rules
from rt_models.pinning import topology

#: The most vCPUs of a small container: "one or two cores" in best practice 1
#: of paper 001.
SMALL = 2
#: Runtime and period in us of the largest reservation, max_share of a pCPU.
_WHOLE = (95_000, 100_000)

#: A caveat about the ranges, which is shown with them.
CAVEAT = ('The ranges of CHR come from one host with 112 cores, in steps of '
          'a factor of two.')


@dataclasses.dataclass(frozen=True, slots=True)
class PinningQuestion:
    """The server to be placed, and the hosts.

    :ivar hosts: each kind of host
    :ivar vm: True if the server is a virtual machine, False if it is a
        container
    :ivar reservations: whether the hosts accept CPU reservations
    :ivar dedicated: whether the hosts have CPUs that they can dedicate
    :raises InvalidPinning: when the number of vCPUs is not possible, or no
        host has as many pCPUs
    """

    app_class: workload.AppClass
    vcpus: int
    hosts: tuple[topology.Host, ...]
    vm: bool = False
    reservations: bool = True
    dedicated: bool = True

    def __post_init__(self) -> None:
        most = max(host.pcpus for host in self.hosts)
        if not 1 <= self.vcpus <= most:
            raise exception.InvalidPinning(
                name='--vcpus', value=self.vcpus, rule=f'it must be 1 to '
                f'{most}, the pCPUs of the largest host')


@dataclasses.dataclass(frozen=True, slots=True)
class HostSize:
    """The server on hosts of one kind.

    :ivar fits: whether the host has as many pCPUs as the server has vCPUs
    :ivar chr: its CHR; None unless it is a container that shares CPUs
    :ivar advice: what to change; '' where the CHR is not below the range
    :ivar notes: sentences on the sockets, caches and cores of the host
    """

    host: topology.Host
    fits: bool
    chr: float | None
    advice: str
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """The placement, with its rules in the order in which they apply."""

    placement: rules.CpuPlacement
    reasons: tuple[rules.PinningRule, ...]
    warnings: tuple[rules.PinningRule, ...]
    range: core_ratio.Range
    sizes: tuple[HostSize, ...]


def advise(question: PinningQuestion) -> Advice:
    """Returns the placement that follows from the rules."""
    placement, reasons = _placement(question)
    return Advice(
        placement, reasons, tuple(_warnings(question, placement)),
        core_ratio.RANGES[question.app_class],
        tuple(_size(question, placement, host)
              for host in sorted({host.name: host for host in question.hosts
                                  }.values(), key=lambda host: host.pcpus)))


def _placement(question: PinningQuestion
               ) -> tuple[rules.CpuPlacement, tuple[rules.PinningRule, ...]]:
    if question.vm:
        return _vm_placement(question)
    is_cpu = question.app_class is workload.AppClass.CPU
    rule = rules.PINNED_CONTAINER if is_cpu else rules.PINNED_IO
    small = (rules.SMALL,) if question.vcpus <= SMALL else ()
    if question.reservations:
        return rules.CpuPlacement.RESERVED, (*small, rule, rules.NOT_SHARED)
    if question.dedicated:
        return rules.CpuPlacement.DEDICATED, (*small, rule)
    if not is_cpu:
        return rules.CpuPlacement.NESTED, (*small, rules.IO_NESTED)
    return rules.CpuPlacement.SHARED, (rules.RANGES,)


def _vm_placement(
        question: PinningQuestion
        ) -> tuple[rules.CpuPlacement, tuple[rules.PinningRule, ...]]:
    if question.app_class is workload.AppClass.CPU:
        return rules.CpuPlacement.SHARED, (rules.VM_UNPINNED,)
    if question.reservations:
        return rules.CpuPlacement.RESERVED, (rules.NOT_SHARED,)
    # A container within the VM is better than the VM alone.
    return rules.CpuPlacement.NESTED, (rules.IO_NESTED,)


def _warnings(question: PinningQuestion, placement: rules.CpuPlacement
              ) -> Iterator[rules.PinningRule]:
    if placement is rules.CpuPlacement.SHARED:
        yield rules.NOT_SHARED
        if not question.vm and question.vcpus <= SMALL:
            yield rules.SMALL
    if placement is rules.CpuPlacement.DEDICATED:
        yield rules.NO_QUOTA
    if question.vm or placement is rules.CpuPlacement.NESTED:
        yield rules.HEADROOM
    if question.vm and placement is rules.CpuPlacement.RESERVED:
        yield rules.IO_NESTED


def _size(question: PinningQuestion, placement: rules.CpuPlacement,
          host: topology.Host) -> HostSize:
    vcpus, fits = question.vcpus, question.vcpus <= host.pcpus
    notes = tuple(_notes(vcpus, placement, host)) if fits else (
        f'This host cannot take the server: the host has {host.pcpus} pCPUs.',)
    if question.vm or placement is not rules.CpuPlacement.SHARED or not fits:
        return HostSize(host, fits, None, '', notes)
    wanted = core_ratio.RANGES[question.app_class]
    least = -(-wanted.low * host.pcpus // 100)
    advice = ('' if core_ratio.percent(vcpus, host.pcpus) >= wanted.low else
              f'give the server {least} vCPUs, or use smaller hosts')
    return HostSize(host, fits, vcpus / host.pcpus, advice, notes)


def _notes(vcpus: int, placement: rules.CpuPlacement, host: topology.Host
           ) -> Iterator[str]:
    """Yields notes about a host that can take the server."""
    own = placement in (rules.CpuPlacement.RESERVED,
                        rules.CpuPlacement.DEDICATED)
    if vcpus > host.in_socket:
        nodes = -(-vcpus // host.in_socket)
        yield (f'The server needs {nodes} sockets: give the flavor '
               f'hw:numa_nodes={nodes}, or at most {host.in_socket} vCPUs.')
    elif vcpus > host.in_cache:
        yield (f'At most {host.in_cache} pCPUs share a last-level cache, so '
               'data that vCPUs exchange passes through several caches.')
    if host.has_smt and own:
        yield ('A vCPU gets a hardware thread: a task on the other thread of '
               'the core slows the vCPU down, but takes none of its CPU time.')
    if len(host.kinds) > 1 and own:
        yield ('The kinds of cores of this host differ in speed, but a server '
               'gets CPU time on either kind: name the CPUs of one kind in '
               '[compute] cpu_dedicated_set or cpu_shared_set.')
        if vcpus > host.kinds[0]:
            yield (f'Only {host.kinds[0]} pCPUs are of the fastest kind.')


def extra_specs(question: PinningQuestion, placement: rules.CpuPlacement
                ) -> dict[str, str]:
    """Returns the extra specs of a flavor for a placement.

    A reservation is the largest that the default limits allow.  ``nova-rt
    plan`` finds the smallest one for a response time.
    """
    specs = {reservation.FLAVOR_PREFIX + workload.CLASS_KEY:
             str(question.app_class)}
    if placement is rules.CpuPlacement.DEDICATED:
        specs['hw:cpu_policy'] = 'dedicated'
    if placement is rules.CpuPlacement.RESERVED:
        for key, value in zip(reservation.KEYS, _WHOLE, strict=True):
            specs[reservation.FLAVOR_PREFIX + key] = str(value)
    return specs
