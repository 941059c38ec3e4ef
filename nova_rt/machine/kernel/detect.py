# SPDX-License-Identifier: Apache-2.0

"""Finds the interface of the running kernel."""

from collections.abc import Callable
import importlib.metadata

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.rules import exception

GROUP = 'nova_rt.kernel'


def detect(fs: cgroup.CgroupFS, name: str | None = None,
           make_survey: Callable[[cgroup.CgroupFS, cgroup.Hierarchy],
                                 rt_survey.Survey] = rt_survey.Survey
           ) -> base.KernelInterface | None:
    """Returns the interface that the kernel has; asks each interface.

    :param name: the interface to return without asking
        (``[nova_rt] kernel_interface``)
    :param make_survey: makes the survey of the kernel
    :returns: the interface; None if the kernel has no known interface
    :raises LookupError: when no interface has the name *name*
    :raises KernelError: when the interface cannot be found out, or when
        several interfaces match the kernel
    """
    entries = installed()
    if name is not None and name not in entries:
        raise LookupError(f'no interface has this name; use one of '
                          f'{", ".join(sorted(entries))}')
    hierarchy = rt_survey.hierarchy_of(fs)
    if hierarchy is None:
        return None
    survey = make_survey(fs, hierarchy)
    if name is not None:
        return entries[name].on(survey)
    with survey.open():
        matches = [kind for _, kind in sorted(entries.items())
                   if kind.detect(survey)]
    if len(matches) > 1:
        names = ' and '.join(kind.name for kind in matches)
        raise exception.KernelError(
            interface='probe', group=hierarchy.mount,
            reason=f'the kernel looks like {names}; set [nova_rt] '
                   f'kernel_interface to one of them')
    return matches[0].on(survey) if matches else None


def installed() -> dict[str, type[base.KernelInterface]]:
    """Returns the interfaces that are installed, by name."""
    return {entry.name: entry.load() for entry
            in importlib.metadata.entry_points(group=GROUP)}
