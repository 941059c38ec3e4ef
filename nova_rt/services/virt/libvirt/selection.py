# SPDX-License-Identifier: Apache-2.0

"""Selects the enforcer of this host, by its kernel and the options.

Budgets of control groups are used if the kernel has an interface for them.
Otherwise the vCPUs of virtual machines are SCHED_DEADLINE, and containers
have no enforcer.
"""

from collections.abc import Callable, Collection

import nova.conf
from oslo_log import log as logging

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import nodes
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import pins as kernel_pins
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.services.compute import emulators
from nova_rt.services import conf as rt_conf
from nova_rt.services.virt.libvirt import deadline
from nova_rt.services.virt.libvirt import enforcer

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


def select(files: cgroup.CgroupFS, shared: Callable[[], Collection[int]],
           host_cpus: Callable[[], emulators.HostCPUs],
           emulator_cpus: Callable[[], Collection[int]]
           ) -> enforcer.Enforcer | None:
    """Returns the enforcer of this host; None if the host has none.

    :param shared: returns the pCPUs that Nova gives to unpinned servers
    :param host_cpus: returns the pCPUs of this host, by their use; called
        only after the capacity of the host was measured
    :param emulator_cpus: returns the pCPUs for emulator, I/O and vhost threads
    :raises InvalidConfiguration: when ``kernel_interface`` names no interface
    :raises KernelError: when the interface cannot be found out
    """
    tasks = kernel_tasks.Tasks(files)
    containers = CONF.libvirt.virt_type == 'lxc'
    if CONF.nova_rt.kernel_interface != deadline.DeadlineEnforcer.name:
        interface = _interface(files)
        if interface is not None:
            return _by_groups(interface, tasks)
        if containers:
            return None
    pins = None
    if not containers and _can_pin(files, tasks):
        pins = kernel_pins.Pins(
            tasks, lambda: host_cpus().spare, nodes.cells,
            lambda: host_cpus().not_dedicated, emulator_cpus)
    return deadline.DeadlineEnforcer(files, tasks, containers, shared, pins)


def moves_emulators(target: enforcer.Enforcer | None) -> bool:
    """Checks whether an enforcer moves the threads that are not vCPUs."""
    return isinstance(target, deadline.DeadlineEnforcer) and target.pins


def _by_groups(interface: base.KernelInterface, tasks: kernel_tasks.Tasks
               ) -> enforcer.Enforcer:
    interface.prepare(rt_conf.ppm(CONF.nova_rt.cpu_cap))
    return enforcer.GroupEnforcer(
        interface, tasks, CONF.nova_rt.guest_policy,
        _priority_by_period if interface.fixed_priorities
        else lambda wanted: int(CONF.nova_rt.guest_priority))


def _can_pin(files: cgroup.CgroupFS, tasks: kernel_tasks.Tasks) -> bool:
    """Checks whether SCHED_DEADLINE vCPUs can each have a pCPU here."""
    trouble = ('the kernel does not let the cpuset of a SCHED_DEADLINE '
               'thread shrink')
    try:
        if deadline.can_pin(files, tasks):
            return True
    except exception.KernelError as error:
        trouble = str(error)
    LOG.warning('vCPUs with a reservation run on any CPU of the root domain '
                '(global EDF): %s', trouble)
    return False


def _priority_by_period(wanted: reservation.Reservation) -> int:
    """Returns the priority of a guest.

    The priority depends only on the period and on options, and so never
    changes while a guest runs.
    """
    return int(CONF.nova_rt.guest_priority) + schedulability.level(
        wanted.period_us, rt_conf.levels(CONF))


def _interface(files: cgroup.CgroupFS) -> base.KernelInterface | None:
    """Returns the interface of the kernel; None if the kernel has none.

    :raises InvalidConfiguration: when the option names no interface
    :raises KernelError: when the interface cannot be found out
    """
    name = CONF.nova_rt.kernel_interface
    try:
        return detect.detect(files, name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='kernel_interface', value=name, rule=str(error)) from error
