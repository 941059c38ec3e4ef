# SPDX-License-Identifier: Apache-2.0

"""Hard guarantees of a reservation, whatever else runs on its CPUs.

The sufficient test that the documentation of the HCBS patches (v6, section
3) puts together: the multiprocessor periodic resource model of Easwaran,
Shin and Lee for what a reservation supplies, and the test of Bertogna,
Cirinei and Lipari for tasks with fixed priorities on several CPUs.

All times are in us; those of tasks are whole, as the tests count in units.
"""

from collections.abc import Sequence
import dataclasses
import math

from nova_rt.rules import reservation as rt_reservation


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """A periodic or sporadic task of the guest.

    :param cpu_time_us: C, at most
    :param period_us: P, at least, between two activations
    :param deadline_us: D, from each activation
    """

    cpu_time_us: int
    period_us: int
    deadline_us: int


def supply_us(reservation: rt_reservation.Reservation, interval_us: float,
              vcpus: int = 1) -> float:
    """The least CPU time there is in any interval of this length.

    At worst the interval starts when a budget has just been used, and from
    then on each comes as late as its deadline allows.  With one runtime for
    all vCPUs, as here, the supply of several is a multiple.
    """
    runtime, period = reservation.runtime_us, reservation.period_us
    late = interval_us - (period - runtime)
    if late <= 0:
        return 0
    periods, rest = divmod(late, period)
    return vcpus * (periods * runtime + max(0, rest - (period - runtime)))


def response_bound_us(cpu_time_us: float,
                      reservation: rt_reservation.Reservation) -> float:
    """Until when this much work of one vCPU is surely done.

    The inverse of supply_us().
    """
    gaps = math.ceil(cpu_time_us / reservation.runtime_us) + 1
    return cpu_time_us + gaps * (reservation.period_us
                                 - reservation.runtime_us)


def meets_deadlines(tasks: Sequence[Task],
                    reservation: rt_reservation.Reservation,
                    vcpus: int = 1) -> bool:
    """Every task is sure to meet its deadlines.  False: perhaps it is not.

    :param tasks: of the guest, highest priority first; they may run on any
        of its vCPUs
    """
    # Less than, as in the test for whole CPUs; with "at most", as the
    # patches have it, a task could take one unit too many.
    return all(
        _demand_us(task, tasks[:number], vcpus)
        < supply_us(reservation, task.deadline_us, vcpus)
        for number, task in enumerate(tasks))


def _demand_us(task: Task, higher: Sequence[Task], vcpus: int) -> int:
    """All vCPUs busy with others, and then the task itself."""
    slack = task.deadline_us - task.cpu_time_us + 1
    return vcpus * (task.cpu_time_us - 1) + sum(
        min(_work_us(other, task.deadline_us), slack) for other in higher)


def _work_us(task: Task, interval_us: int) -> int:
    """The most that the activations of a task run in an interval."""
    reach = interval_us + task.deadline_us - task.cpu_time_us
    whole = reach // task.period_us
    return whole * task.cpu_time_us + min(
        task.cpu_time_us, reach - whole * task.period_us)
