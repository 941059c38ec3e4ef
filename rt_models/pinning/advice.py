# SPDX-License-Identifier: Apache-2.0

"""Chooses a placement for a workload by its class, its size and the hosts.

The choice follows rules and gives them as reasons; nothing is predicted.
"""

from collections.abc import Iterator
import dataclasses

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import workload
from rt_models.pinning import core_ratio
from rt_models.pinning import rules

#: The most vCPUs of a small container: "one or two cores" in best practice 1
#: of paper 001.
SMALL = 2
_MOST = 100_000
#: Runtime and period in us of the largest reservation, max_share of a pCPU.
_WHOLE = (95_000, 100_000)

#: A caveat about the ranges, which is shown with them.
CAVEAT = ('The ranges of CHR come from one host with 112 cores, in steps of '
          'a factor of two.')


@dataclasses.dataclass(frozen=True, slots=True)
class PinningQuestion:
    """The server to be placed, and the hosts.

    :ivar host_cores: the number of cores of each kind of host
    :ivar vm: whether the server is a virtual machine; if not, a container
    :ivar reservations: whether the hosts accept CPU reservations
    :ivar dedicated: whether the hosts have CPUs that they can dedicate
    :raises InvalidPinning: when a number is not possible for a server or host
    """

    app_class: workload.AppClass
    vcpus: int
    host_cores: tuple[int, ...]
    vm: bool = False
    reservations: bool = True
    dedicated: bool = True

    def __post_init__(self) -> None:
        for name, values in (('--vcpus', (self.vcpus,)),
                             ('--host-cores', self.host_cores)):
            for value in values:
                if not 1 <= value <= _MOST:
                    raise exception.InvalidPinning(
                        name=name, value=value, rule=f'it must be 1 to '
                        f'{_MOST}')


@dataclasses.dataclass(frozen=True, slots=True)
class HostSize:
    """The CHR of the server on hosts of one size.

    :ivar advice: what to change; '' where the CHR is in the range
    """

    cores: int
    chr: float
    in_range: bool
    advice: str


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
        tuple(_size(question, cores)
              for cores in sorted(set(question.host_cores))))


def _placement(question: PinningQuestion
               ) -> tuple[rules.CpuPlacement, tuple[rules.PinningRule, ...]]:
    if question.vm:
        return _of_vm(question)
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


def _of_vm(question: PinningQuestion
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


def _size(question: PinningQuestion, cores: int) -> HostSize:
    wanted = core_ratio.RANGES[question.app_class]
    vcpus = question.vcpus
    percent = core_ratio.percent(vcpus, cores)
    if percent < wanted.low:
        least = -(-wanted.low * cores // 100)
        advice = f'give it {least} vCPUs, or take smaller hosts'
    elif percent > wanted.high:
        advice = ('it has more vCPUs than it needs; let others share these '
                  'CPUs')
    else:
        advice = ''
    return HostSize(cores, vcpus / cores, not advice, advice)


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
