# SPDX-License-Identifier: Apache-2.0

"""Checks for vCPUs that get some CPU time, but less than they reserved."""

from collections.abc import Iterator
import contextlib

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import shortfall
from nova_rt.rules import reservation
from rt_operate.doctor.checks import starving
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'deadline.share'


def shares(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that vCPUs that are always ready to run get their share.

    The vCPUs that are busy are observed for one or two seconds.
    """
    if not view.detection.deadline:
        return
    tasks = {task.thread: task for task in starving.vcpus(view)}
    wanted = {}
    for thread in tasks:
        with contextlib.suppress(ProcessLookupError):
            policy = sched.get(thread)
            wanted[thread] = reservation.Reservation(
                policy.runtime // 1000, policy.period // 1000)
    short = [str(tasks[thread]) for thread in shortfall.find(wanted)]
    if short:
        yield findings.problem(
            _ID, f'vCPUs that are always ready to run get less CPU time than '
            f'they have reserved: {findings.first_few(short)}.',
            'Look for what takes time from their pCPUs: other SCHED_DEADLINE '
            'threads (deadline.others), a hypervisor below this host ("st" '
            'of top), and vCPUs on one pCPU whose shares add up to more than '
            'the capacity (nova-rt-manage check).')
    elif wanted:
        yield findings.ok(_ID, 'Each vCPU that has a reservation and is '
                          'always ready to run gets its share.')


CHECKS: dict[str, doctor_view.Check] = {_ID: shares}
