# SPDX-License-Identifier: Apache-2.0

"""Find the interface of the running kernel."""

from collections.abc import Callable
import importlib.metadata

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.rules import exception

GROUP = 'nova_rt.kernel'


def detect(fs: cgroup.CgroupFS, name: str | None = None,
           look: Callable[[cgroup.CgroupFS, cgroup.Hierarchy],
                          rt_survey.Survey] = rt_survey.Survey
           ) -> base.KernelInterface | None:
    """Ask each interface whether the kernel has it.

    :param name: take this one (``[nova_rt] kernel_interface``) unasked
    :param look: how to look at the kernel
    :returns: the interface, or None where the kernel has none of them
    :raises LookupError: no interface is called *name*
    :raises KernelError: it cannot be found out, or several claim the kernel
    """
    entries = known()
    if name is not None and name not in entries:
        raise LookupError(f'there is none of this name; known are '
                          f'{", ".join(sorted(entries))}')
    hierarchy = rt_survey.hierarchy_of(fs)
    if hierarchy is None:
        return None
    survey = look(fs, hierarchy)
    if name is not None:
        return entries[name].on(survey)
    with survey.open():
        found = [kind for _, kind in sorted(entries.items())
                 if kind.detect(survey)]
    if len(found) > 1:
        raise exception.KernelError(
            interface='probe', group=hierarchy.mount,
            reason=f'it looks like {" and ".join(x.name for x in found)}; '
                   f'set [nova_rt] kernel_interface')
    return found[0].on(survey) if found else None


def known() -> dict[str, type[base.KernelInterface]]:
    """The interfaces that are installed, by name."""
    return {entry.name: entry.load() for entry
            in importlib.metadata.entry_points(group=GROUP)}
