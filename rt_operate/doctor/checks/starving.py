# SPDX-License-Identifier: Apache-2.0

"""Checks for vCPUs that have their reservation but get no CPU time."""

from collections.abc import Iterator
import contextlib

from nova_rt.machine.host import proc
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import starving
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'deadline.starving'


def starved(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that vCPUs that are ready to run get CPU time.

    The policy and the affinity of a starving vCPU look right, so only its CPU
    time shows that the vCPU starves.
    """
    if not view.detection.deadline:
        return
    reserved = vcpus(view)
    starving_vcpus = [str(task) for task in _starving(reserved)]
    if starving_vcpus:
        yield findings.problem(
            _ID, f'vCPUs with a reservation are ready to run but get no CPU '
            f'time: {findings.first_few(starving_vcpus)}.',
            'Start nova-compute, whose audit lets them run again; without '
            'nova-compute, for each thread: chrt -o -p 0 TID')
    elif reserved:
        yield findings.ok(_ID, 'Each vCPU that has a reservation and is ready '
                          'to run gets CPU time.')


def vcpus(view: doctor_view.View) -> list[proc.Task]:
    """Returns the SCHED_DEADLINE threads of guests."""
    return [task for task in view.tasks.deadline
            if deadline.is_vcpu(view.group_of(task))]


def _starving(reserved: list[proc.Task]) -> Iterator[proc.Task]:
    """Yields the vCPUs that starve.

    The function first reads the CPU times of all vCPUs at once, and then waits
    only for the few vCPUs that seem to starve.
    """
    watch = starving.Watch()
    watch.note(task.thread for task in reserved)
    for task in reserved:
        with contextlib.suppress(ProcessLookupError):
            period_us = sched.get(task.thread).period // 1000
            if watch.starves(task.thread, period_us):
                yield task


CHECKS: dict[str, doctor_view.Check] = {_ID: starved}
