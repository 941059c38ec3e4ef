# SPDX-License-Identifier: Apache-2.0

"""Runs all checks one after the other, even if one of them fails."""

from collections.abc import Iterator

from rt_operate.doctor.checks import capacity
from rt_operate.doctor.checks import config
from rt_operate.doctor.checks import confinement
from rt_operate.doctor.checks import containers
from rt_operate.doctor.checks import deadline
from rt_operate.doctor.checks import deadline_servers
from rt_operate.doctor.checks import division
from rt_operate.doctor.checks import emulators
from rt_operate.doctor.checks import hardware
from rt_operate.doctor.checks import here
from rt_operate.doctor.checks import interrupts
from rt_operate.doctor.checks import kernel
from rt_operate.doctor.checks import kvm
from rt_operate.doctor.checks import libvirt
from rt_operate.doctor.checks import monitor
from rt_operate.doctor.checks import orphans
from rt_operate.doctor.checks import shortfall
from rt_operate.doctor.checks import soft
from rt_operate.doctor.checks import starving
from rt_operate.doctor.checks import strangers
from rt_operate.doctor.checks import sysctl
from rt_operate.doctor.checks import tasks
from rt_operate.doctor.checks import timing
from rt_operate.doctor.checks import unserved
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

#: The topics in the order in which an operator would ask about them.
TOPICS = (here, kernel, config, kvm, capacity, division, deadline,
          starving, shortfall, emulators, interrupts, sysctl, deadline_servers,
          timing, hardware,
          libvirt, tasks, orphans, soft, strangers, unserved, containers,
          confinement, monitor)
#: The topics whose findings are right even where this process does not see
#: the tasks and groups of the host.
OUTSIDE_TOPICS = (here, config)


def examine(view: doctor_view.View) -> list[findings.Finding]:
    """Returns the findings of all checks, in the order of the checks."""
    return [finding for topic in (OUTSIDE_TOPICS if view.outside else TOPICS)
            for name, check in topic.CHECKS.items()
            for finding in _guarded(name, check, view)]


def _guarded(name: str, check: doctor_view.Check, view: doctor_view.View
             ) -> Iterator[findings.Finding]:
    try:
        yield from check(view)
    except Exception as error:
        # An operator in trouble has no use for a traceback, whatever the
        # error is.
        yield findings.problem(
            name, 'This check could not be completed: '
                  f'{findings.reason(error)}.',
            'Look at the file or value that the message names; if it is '
            'correct, report a bug.')
