# SPDX-License-Identifier: Apache-2.0

"""What of this host may be reserved, from the options and the kernel."""

from collections.abc import Collection
import dataclasses
from typing import Any, Protocol

from nova.virt import hardware

from nova_rt.machine.host import guests
from nova_rt.machine.kernel import base
from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import packing
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.services import conf as rt_conf
from nova_rt import version


class Kernel(Protocol):
    """The part of an Enforcer that is asked."""

    @property
    def replicated(self) -> bool:
        """Whether a share is charged on every pCPU."""

    def capacity(self) -> base.Capacity:
        """:raises KernelError: it cannot be told, with the reason"""


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """The empty host, and whether it takes reservations.

    :ivar reason: why it takes none, '' where it does
    :ivar tick_us: granularity of enforcement, 0 where it is fine
    :ivar before_interrupts: see nova_rt.machine.kernel.base.Capacity
    """

    empty: cpus.CpuBandwidth
    policy_name: str
    policy: cpus.Policy
    reason: str = ''
    tick_us: int = 0
    before_interrupts: bool = False

    def __str__(self) -> str:
        if self.reason:
            return f'none on this host: {self.reason}'
        tick = (f', charged at ticks of {self.tick_us} us: shorter runtimes '
                f'are right in the long run only' if self.tick_us else '')
        interrupts = (', where threads that handle interrupts wait for '
                      'them: nova-rt doctor says whether they stay off '
                      'these pCPUs' if self.before_interrupts else '')
        return (f'{self.empty.cap} ppm of '
                f'{"all" if self.empty.replicated else "each"} of the pCPUs '
                f'{cpulist.format_ids(self.empty.cpus)}, chosen by '
                f'{self.policy_name}{tick}{interrupts}')

    @property
    def available(self) -> bool:
        return not self.reason

    def refusal(self, state: cpus.CpuBandwidth, vcpus: int,
                wanted: reservation.Reservation) -> str:
        """Why no pCPUs have room for a server, for the operator.

        :param state: of the host now
        """
        least = self.empty.min_runtime_us
        if wanted.runtime_us < least:
            return (f'this kernel may be given no runtime below {least} us '
                    f'(its tick, or 100 us with HRTICK), and {wanted} is '
                    f'asked for')
        rule = self.empty.rule
        if rule is not None and wanted.period_us < rule.min_period_us:
            return (f'this kernel, with its tick of {self.tick_us} us, keeps '
                    f'no period below {rule.min_period_us} us, and {wanted} '
                    f'is asked for')
        late = (f': {cpus.LATE}' if cpus.is_late(state, vcpus, wanted)
                else '')
        return f'no {vcpus} pCPUs have room for {wanted}{late}'

    def published(self, state: cpus.CpuBandwidth,
                  strangers: tuple[hostmap.Stranger, ...] = ()
                  ) -> hostmap.HostMap:
        """What the schedulers get to see of *state*.

        :param strangers: what it counts beside claims
        """
        if not self.available:
            return self.nothing()
        return hostmap.HostMap(state, self.policy_name, strangers,
                               version.get())

    def nothing(self) -> hostmap.HostMap:
        """What a host publishes that takes no reservation."""
        return hostmap.HostMap(cpus.CpuBandwidth.empty((), 0),
                               self.policy_name, release=version.get())


def load_policy(name: str) -> cpus.Policy:
    """:raises InvalidConfiguration: no policy is called *name*"""
    try:
        return packing.load(name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='packing_policy', value=name, rule=str(error)) from error


def measure(conf: Any, kernel: Kernel | None, shared: Collection[int],
            trouble: str) -> Capacity:
    """The capacity of this host.

    :param kernel: what enforces reservations, None where nothing does
    :param shared: pCPUs that Nova gives to unpinned servers
    :param trouble: why nothing does
    :raises InvalidConfiguration: options that contradict each other
    """
    group = conf.nova_rt
    policy = load_policy(group.packing_policy)
    ids = _rt_cpus(group.rt_cpus, shared)
    found = base.Capacity(0, 0)
    if kernel is not None:
        try:
            found = kernel.capacity()
        except exception.KernelError as error:
            trouble = exception.clause(error)
    cap = min(rt_conf.ppm(group.cpu_cap), found.ppm)
    reason = _unavailable(conf, kernel, trouble, ids) or (
        '' if cap else 'other control groups hold all that the kernel gives')
    empty = cpus.CpuBandwidth.empty(
        ids, cap, kernel is not None and kernel.replicated,
        _rule(conf, found), found.min_runtime_us)
    return Capacity(empty, group.packing_policy, policy, reason,
                    found.tick_us, found.before_interrupts)


def _rule(conf: Any, found: base.Capacity
          ) -> schedulability.FixedPriorities | None:
    """How the kernel runs the servers of a pCPU; None for EDF."""
    if not found.fixed_priorities:
        return None
    # A guest that chooses for itself may have any priority.
    free = conf.nova_rt.guest_policy == 'none'
    return schedulability.FixedPriorities(
        1 if free else rt_conf.levels(conf), found.tick_us,
        found.min_period_us)


def _rt_cpus(spec: str | None, shared: Collection[int]) -> tuple[int, ...]:
    if not spec:
        return tuple(sorted(shared))
    try:
        ids = hardware.parse_cpu_spec(spec)
    except Exception as error:
        raise exception.InvalidConfiguration(
            option='rt_cpus', value=spec,
            rule='it is no list of CPUs such as 2-15,^8') from error
    outside = sorted(ids - set(shared))
    if outside:
        raise exception.InvalidConfiguration(
            option='rt_cpus', value=spec,
            rule=f'CPUs {outside} are not among the online CPUs that Nova '
                 f'shares between servers ([compute] cpu_shared_set)')
    return tuple(sorted(ids))


def _unavailable(conf: Any, kernel: Kernel | None, trouble: str,
                 ids: tuple[int, ...]) -> str:
    if not conf.nova_rt.hcbs_scheduler_available:
        return '[nova_rt] hcbs_scheduler_available is false'
    if conf.libvirt.virt_type not in guests.VIRT_TYPES:
        return (f'[libvirt] virt_type = {conf.libvirt.virt_type} is none of '
                f'{", ".join(guests.VIRT_TYPES)}')
    if kernel is None and not trouble:
        return ('the kernel offers no interface for it: none of those that '
                'nova-rt doctor lists')
    if not ids:
        return ('no pCPU is left for it by [nova_rt] rt_cpus and '
                '[compute] cpu_shared_set')
    return trouble
