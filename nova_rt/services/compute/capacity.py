# SPDX-License-Identifier: Apache-2.0

"""Finds how much of this host may be reserved, by options and kernel."""

from collections.abc import Collection, Sequence
import dataclasses
from typing import Any, Protocol

from nova.virt import hardware

from nova_rt.machine.host import guests
from nova_rt.machine.host import siblings
from nova_rt.machine.kernel import base
from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import room
from nova_rt.rules import schedulability
from nova_rt.rules import words
from nova_rt.services.compute import policy
from nova_rt.services import conf as rt_conf
from nova_rt import version


#: Why a host does not take a flavor, by what the flavor needs.
LACKS = {
    hostmap.MASK:
        f'the flavor reserves for some of its vCPUs ({reservation.MASK_KEY}), '
        f'but this host cannot tell vCPUs apart: its kernel charges a '
        f'reservation on every pCPU, or its servers are containers; use '
        f'hosts with virtual machines and sched_deadline, or another flavor',
    hostmap.NUMA:
        'the server has a NUMA topology, but this host keeps no vCPU on the '
        'pCPU of its claim, or its servers are containers; use hosts with '
        'virtual machines whose vCPUs are pinned (nova-rt doctor shows '
        'whether a host pins them), or a flavor without NUMA cells and page '
        'size',
    hostmap.CORE:
        'the flavor wants the threads of a core to count as one '
        f'({reservation.SMT_KEY}=core), but this host counts each thread; set '
        '[nova_rt] smt = core on hosts for such servers, or use another '
        'flavor',
    hostmap.SOFT:
        'the flavor has a soft reservation '
        f'({reservation.KIND_KEY}=soft), but this host cannot change the '
        'runtime of a vCPU by the pCPU where it runs; use hosts with virtual '
        'machines and sched_deadline whose vCPUs are pinned (nova-rt doctor '
        'shows whether a host pins them), or a flavor with a hard '
        'reservation'}


class CapacitySource(Protocol):
    """The part of an Enforcer that :func:`measure` uses."""

    #: the name of the kernel interface
    name: str

    @property
    def replicated(self) -> bool:
        """True if a share is charged on every pCPU."""

    @property
    def pins(self) -> bool:
        """True if guests stay on the pCPUs of their claims."""

    @property
    def takes_soft(self) -> bool:
        """True if soft reservations are enforced, see rules.soft."""

    @property
    def holds_cpus(self) -> bool:
        """True if no vCPU leaves its pCPU while it is reserved."""

    def capacity(self) -> base.Capacity:
        """Returns how much the kernel can reserve.

        :raises KernelError: when the kernel does not tell
        """


@dataclasses.dataclass(frozen=True, slots=True)
class HostCapacity:
    """The capacity of a host, and whether the host takes reservations.

    :ivar reason: why the host takes no reservations; '' if it takes them
    :ivar tick_us: the tick at which CPU time is charged; 0 if it is charged
        exactly
    :ivar before_interrupts: see nova_rt.machine.kernel.base.Capacity
    :ivar takes: see nova_rt.rules.hostmap.HostMap
    :ivar interface: the name of the kernel interface; '' without one
    :ivar others: see nova_rt.machine.kernel.base.Capacity
    """

    empty: cpus.CpuBandwidth
    reason: str = ''
    tick_us: int = 0
    before_interrupts: bool = False
    takes: frozenset[str] = frozenset()
    interface: str = ''
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.reason:
            return f'none on this host: {self.reason}'
        cores = (', the threads of a core counted as one'
                 if self.empty.counts_cores else '')
        tick = (f', charged at ticks of {self.tick_us} us: shorter runtimes '
                f'are kept only on average' if self.tick_us else '')
        interrupts = (', where reservations run before threads that handle '
                      'interrupts: nova-rt doctor says whether these threads '
                      'stay off these pCPUs' if self.before_interrupts
                      else '')
        kinds = ('for hard and soft reservations'
                 if hostmap.SOFT in self.takes else
                 'for hard reservations only')
        alone = len(self.empty.cpus) == 1
        scope = ('of' if alone else 'in all, on the' if self.empty.replicated
                 else 'of each of the')
        others = (f', in addition to other groups with bandwidth: '
                  f'{", ".join(self.others)}' if self.others else '')
        return (f'{self.empty.cap} ppm {scope} '
                f'{words.ids(self.empty.cpus)}{cores}, '
                f'{kinds}{tick}{interrupts}{others}')

    @property
    def available(self) -> bool:
        """True if the host takes reservations."""
        return not self.reason

    def lack(self, needs: frozenset[str]) -> str:
        """Returns why the host does not take a flavor, for the operator.

        :param needs: what the flavor needs, see services.compute.vcpus
        """
        reasons = (LACKS[need] for need in sorted(needs - self.takes))
        return '; '.join(reasons)

    def refusal(self, state: cpus.CpuBandwidth, vcpus: int,
                wanted: reservation.Reservation) -> str:
        """Returns why a server does not fit, for the operator.

        :param state: the current state of the host
        """
        shortest_us = self.empty.min_runtime_us
        if wanted.runtime_us < shortest_us:
            return (f'this kernel cannot keep a runtime below {shortest_us} '
                    'us (its tick, or 100 us with HRTICK), but the server '
                    f'asks for {wanted}')
        rule = self.empty.rule
        if rule is not None and wanted.period_us < rule.min_period_us:
            return (f'this kernel, with its tick of {self.tick_us} us, cannot '
                    f'keep a period below {rule.min_period_us} us, but the '
                    f'server asks for {wanted}')
        why = (cpus.LATE if cpus.is_late(state, vcpus, wanted)
               else room.sold(state))
        lack = ('no pCPU has' if vcpus == 1
                else f'fewer than {vcpus} pCPUs have')
        return f'{lack} room for {wanted}: {why}'

    def published(self, state: cpus.CpuBandwidth, packed: policy.Policy,
                  strangers: tuple[hostmap.Stranger, ...] = ()
                  ) -> hostmap.HostMap:
        """Returns the map that the host publishes for *state*.

        :param packed: the policy that fits reservations on this host
        :param strangers: the guests that *state* counts in addition to claims
        """
        if not self.available or packed.reason:
            return self.nothing(packed)
        return hostmap.HostMap(state, packed.name, strangers,
                               version.get(), self.interface,
                               takes=self.takes)

    def nothing(self, packed: policy.Policy, reason: str = ''
                ) -> hostmap.HostMap:
        """Returns the map that a host without reservations publishes.

        :param packed: as for :meth:`published`
        :param reason: why the host takes no reservations, if its capacity is
            not the reason
        """
        return hostmap.HostMap(
            cpus.CpuBandwidth.empty((), 0), packed.name,
            release=version.get(), interface=self.interface,
            reason=reason or self.reason or packed.reason)


def measure(conf: Any, kernel: CapacitySource | None, shared: Collection[int],
            trouble: str) -> HostCapacity:
    """Returns the capacity of this host.

    :param kernel: the enforcer of reservations; None if there is none
    :param shared: the pCPUs that Nova gives to unpinned servers
    :param trouble: why there is no enforcer
    :raises InvalidConfiguration: when options contradict each other or the
        host
    """
    group = conf.nova_rt
    policy.load(group.packing_policy)  # The name may be unknown.
    ids = _rt_cpus(group.rt_cpus, shared)
    limit = base.Capacity(0, 0)
    if kernel is not None:
        try:
            limit = kernel.capacity()
        except exception.KernelError as error:
            trouble = exception.clause(error)
    cap = min(rt_conf.ppm(group.cpu_cap), limit.ppm)
    reason = _unavailable(conf, kernel, trouble, ids) or (
        '' if cap else 'other control groups hold all bandwidth that the '
        'kernel gives to control groups'
        + (f': {", ".join(limit.others)}' if limit.others else ''))
    empty = cpus.CpuBandwidth.empty(
        ids, cap, kernel is not None and kernel.replicated,
        _rule(conf, limit), limit.min_runtime_us)
    empty = dataclasses.replace(empty, smt=cpus.Smt(group.smt),
                                cores=_shared_cores(empty.cpus),
                                min_divided_us=group.min_divided_runtime_us
                                if empty.rule else 0)
    return HostCapacity(empty, reason, limit.tick_us, limit.before_interrupts,
                        _supported_needs(conf, kernel, empty),
                        '' if kernel is None else kernel.name, limit.others)


def _shared_cores(ids: Sequence[int]) -> tuple[int, ...]:
    """Returns the core of each pCPU; () if no two pCPUs share a core."""
    cores = siblings.cores(ids)
    return cores if len(set(cores)) < len(cores) else ()


def _supported_needs(conf: Any, kernel: CapacitySource | None,
                     empty: cpus.CpuBandwidth) -> frozenset[str]:
    """Returns the kinds of flavors that the host takes besides plain ones.

    The tasks of a container are not bound to its vCPUs, and a replicated
    interface has one budget for all vCPUs of a guest.
    """
    masks = (kernel is not None and not kernel.replicated
             and conf.libvirt.virt_type != 'lxc')
    cells = (kernel is not None and kernel.pins
             and conf.libvirt.virt_type != 'lxc')
    moves = (kernel is not None and not kernel.holds_cpus
             and conf.nova_rt.defrag_on_reject == 'apply')
    taken = {hostmap.MOVES: moves, hostmap.MASK: masks, hostmap.NUMA: cells,
             hostmap.SOFT: kernel is not None and kernel.takes_soft,
             hostmap.CORE: empty.counts_cores or not empty.cores}
    return frozenset(name for name, is_taken in taken.items() if is_taken)


def _rule(conf: Any, limit: base.Capacity
          ) -> schedulability.FixedPriorities | None:
    """Returns how the kernel runs the servers of a pCPU; None for EDF."""
    if not limit.fixed_priorities:
        return None
    # With guest_policy = none a guest may choose any priority.
    free = conf.nova_rt.guest_policy == 'none'
    return schedulability.FixedPriorities(
        1 if free else rt_conf.levels(conf), limit.tick_us,
        limit.min_period_us)


def _rt_cpus(spec: str | None, shared: Collection[int]) -> tuple[int, ...]:
    if not spec:
        return tuple(sorted(shared))
    try:
        ids = hardware.parse_cpu_spec(spec)
    except Exception as error:
        raise exception.InvalidConfiguration(
            option='rt_cpus', value=spec,
            rule='it is not a list of CPUs; write it like 2-15,^8'
        ) from error
    outside = sorted(ids - set(shared))
    if outside:
        raise exception.InvalidConfiguration(
            option='rt_cpus', value=spec,
            rule=f'{words.ids(outside, "CPU")} '
                 f'{words.noun(len(outside), "is", "are")} not among the '
                 f'online CPUs that Nova shares between servers ([compute] '
                 f'cpu_shared_set)')
    return tuple(sorted(ids))


def _unavailable(conf: Any, kernel: CapacitySource | None, trouble: str,
                 ids: tuple[int, ...]) -> str:
    if not conf.nova_rt.hcbs_scheduler_available:
        return '[nova_rt] hcbs_scheduler_available is false'
    if conf.libvirt.virt_type not in guests.VIRT_TYPES:
        return (f'[libvirt] virt_type = {conf.libvirt.virt_type}, but '
                f'reservations need one of {", ".join(guests.VIRT_TYPES)}')
    if kernel is None and not trouble:
        return ('the kernel offers no interface for reservations; nova-rt '
                'doctor lists the interfaces that it can use')
    if not ids:
        return ('[nova_rt] rt_cpus and [compute] cpu_shared_set leave no '
                'pCPU for reservations')
    return trouble
