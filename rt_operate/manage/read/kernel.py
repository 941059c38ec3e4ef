# SPDX-License-Identifier: Apache-2.0

"""Reads the budgets in the kernel of this machine; writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Sequence
import contextlib
import importlib
import os
import pathlib
from typing import Any

import nova.conf

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.machine.kernel import passive
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import layout
from rt_operate.manage import snapshot

CONF = nova.conf.CONF


class Unreadable(exception.RTError):
    """The budgets cannot be read.  Arguments: reason."""

    msg_fmt = '%(reason)s'


def read_budgets(holdings: Sequence[snapshot.Holding],
                 strangers: Collection[str] = ()) -> snapshot.KernelBudgets:
    """Returns the budgets of guests, of other groups, and room above them.

    :param holdings: the holdings on this host
    :param strangers: UUIDs of guests that are reported already
    :raises Unseen: when the budgets cannot be read
    """
    files = this_host()
    if reason := namespaces.trouble(files):
        raise Unreadable(
            reason=f'this process does not see the host: {reason}')
    by_server = {holding.server: holding for holding in holdings
                 if holding.current}
    detection = passive.find(files, CONF.nova_rt.kernel_interface,
                             CONF.libvirt.virt_type != 'lxc')
    if detection.deadline:
        return _deadlines(files, by_server)
    if detection.interface is None or (
            hierarchy := survey.hierarchy_of(files)) is None:
        if not detection.trouble and not any(
                holding.claims for holding in holdings):
            return snapshot.KernelBudgets(False, {})  # no claims need budgets
        raise Unreadable(reason=detection.trouble or 'the kernel has no '
                         'interface for reservations')
    try:
        guests = dict(_leaves(files, detection.interface, by_server))
        groups = kernel_groups.Groups(files, hierarchy, detection.interface)
        known_groups = [leaf.group for leaves in guests.values()
                        for leaf in leaves]
        known_groups += _domains(files, hierarchy.controller, strangers)
        return snapshot.KernelBudgets(
            detection.interface.replicated, guests,
            _strays(groups, known_groups),
            {path: groups.room(path) for path in groups.parents()
             if groups.room(path) > 0})
    except (OSError, ValueError) as error:
        raise Unreadable(reason=str(error)) from error


def this_host() -> host_files.Host:
    """Returns this machine; functional tests replace it for each host."""
    return host_files.Host()


# Guests of libvirt.

def running_guests() -> list[tuple[str, int]]:
    """Returns (UUID, pid of the keeper) for each running domain.

    :raises Unseen: when libvirt cannot be asked
    """
    try:
        libvirt: Any = importlib.import_module('libvirt')
    except ImportError as error:
        raise Unreadable(reason='libvirt-python is not installed') from error
    # Without a handler, libvirt prints its errors on standard error.
    libvirt.registerErrorHandler(lambda *args: None, None)
    try:
        with contextlib.closing(libvirt.openReadOnly(_uri())) as connection:
            return [
                (domain.UUIDString(), _pid(domain)) for domain
                in connection.listAllDomains(
                    libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)]
    except (libvirt.libvirtError, OSError, ValueError) as error:
        raise Unreadable(reason='libvirt cannot be asked which guests run: '
                         f'{error}') from error


def _uri() -> str:
    containers = CONF.libvirt.virt_type == 'lxc'
    return str(CONF.libvirt.connection_uri
               or ('lxc:///' if containers else 'qemu:///system'))


def _pid(domain: Any) -> int:
    if CONF.libvirt.virt_type == 'lxc':
        return int(domain.ID())
    path = pathlib.Path(privsep.QEMU_PIDS, f'{domain.name()}.pid')
    return int(path.read_text())


def _layouts(files: host_files.Host, controller: str,
             holdings: dict[str, snapshot.Holding]
             ) -> Iterator[tuple[snapshot.Holding, layout.Layout]]:
    """Yields the running guests of Nova's servers, with their holdings."""
    for uuid, guest in _running(files, controller, holdings):
        yield holdings[uuid], guest


def _domains(files: host_files.Host, controller: str,
             uuids: Collection[str]) -> list[str]:
    """Returns the groups of the guests with these UUIDs."""
    return [guest.domain for _, guest in _running(files, controller, uuids)]


def _running(files: host_files.Host, controller: str,
             uuids: Collection[str]) -> Iterator[tuple[str, layout.Layout]]:
    tasks = kernel_tasks.Tasks(files)
    for uuid, pid in running_guests() if uuids else ():
        if uuid in uuids:
            with contextlib.suppress(LookupError):  # the guest has ended
                yield uuid, layout.find(tasks, controller, pid)


def _claim(holding: snapshot.Holding) -> claims.RTClaim | None:
    return holding.claims[0] if holding.claims else None


def _budget(wanted: reservation.Reservation, ids: Iterable[int]
            ) -> base.Budget:
    return base.Budget(dict.fromkeys(ids, wanted.runtime_us),
                       wanted.period_us)


# By groups.

def _leaves(files: host_files.Host, interface: base.KernelInterface,
            holdings: dict[str, snapshot.Holding]
            ) -> Iterator[tuple[str, tuple[snapshot.Leaf, ...]]]:
    for holding, guest in _layouts(files, interface.controller, holdings):
        wanted = _wanted(interface, guest, _claim(holding))
        yield holding.server, tuple(
            snapshot.Leaf(group, wanted.get(group), interface.read(group))
            for group in wanted or guest.leaves(interface))


def _wanted(interface: base.KernelInterface, guest: layout.Layout,
            claim: claims.RTClaim | None) -> dict[str, base.Budget]:
    if claim is None:
        return {}
    try:
        return guest.budgets(interface, claim)
    except LookupError:
        # The claim has another number of vCPUs, so no budget can be right.
        return {guest.domain: _budget(claim.in_kernel, claim.cpus)}


def _strays(groups: kernel_groups.Groups, leaves: Sequence[str]
            ) -> dict[str, int]:
    """Returns the ppm of the lowest groups that belong to no guest of Nova.

    Groups below the group of a guest belong to the guest, and are left out.
    """
    strays = {
        group.path: group.ppm for group in groups.below(groups.partition)
        if group.budget and not any(
            _within(leaf, group.path) or _within(group.path, leaf)
            for leaf in leaves)}
    return {path: ppm for path, ppm in strays.items() if not any(
        _within(other, path) for other in strays if other != path)}


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith(above + '/')


# By threads.

def _deadlines(files: host_files.Host, holdings: dict[str, snapshot.Holding]
               ) -> snapshot.KernelBudgets:
    hierarchy = survey.hierarchy_of(files)
    if hierarchy is None:
        raise Unreadable(reason='the cgroup cpu controller is not mounted')
    tasks = kernel_tasks.Tasks(files)
    guests = {}
    for holding, guest in _layouts(files, hierarchy.controller, holdings):
        claim = _claim(holding)
        leaves = []
        for number, group in enumerate(guest.vcpus):
            cpu = claim.by_vcpu.get(number) if claim else None
            wanted = None if claim is None or cpu is None else (
                _budget(claim.reservation, (cpu,)))
            leaves += [_thread_leaf(group, thread, wanted, bool(
                claim and claim.soft)) for thread in tasks.vcpu_threads(
                    group, hierarchy.controller)]
        guests[holding.server] = tuple(leaves)
    return snapshot.KernelBudgets(False, guests)


def _thread_leaf(group: str, thread: int, wanted: base.Budget | None,
                 soft: bool = False) -> snapshot.Leaf:
    """Returns the budget that a vCPU should have, and its present one.

    :param soft: whether the vCPU may also have a longer runtime
    """
    policy = sched.get(thread)
    budget = None
    if policy.is_deadline:
        # With global EDF the scheduler chooses the pCPU of the thread.
        pinned = os.sched_getaffinity(thread)
        ids = (wanted.runtime_us if wanted and len(pinned) > 1
               else sorted(pinned)[:1])
        budget = base.Budget(dict.fromkeys(ids, policy.runtime // 1000),
                             policy.period // 1000)
        if soft and wanted and _is_above(budget, wanted):
            wanted = budget
    return snapshot.Leaf(f'{group}, thread {thread}', wanted, budget)


def _is_above(budget: base.Budget, wanted: base.Budget) -> bool:
    return budget.period_us == wanted.period_us and all(
        budget.runtime_us.get(cpu, 0) >= runtime
        for cpu, runtime in wanted.runtime_us.items())
