# SPDX-License-Identifier: Apache-2.0

"""The rules of the cpuset controllers of cgroup v1 and v2."""

from collections.abc import Callable
import errno

from tests.emulation import groups
from tests.emulation import numbers


def effective(group: groups.Group) -> frozenset[int]:
    """Returns the CPUs of a v2 group: its own if set, else its parent's."""
    if group.parent is None:
        return group.cpus
    above = effective(group.parent)
    if 'cpuset' not in group.parent.subtree:
        return above
    return group.cpus & above or above


def vet_v1(group: groups.Group, root: groups.Group, cpus: frozenset[int],
           occupied: Callable[[groups.Group], bool], path: str) -> None:
    """Checks a list of CPUs by the rules of cgroup v1."""
    if group.parent is None:
        raise numbers.refusal(errno.EACCES, path)
    if not cpus <= root.cpus:
        raise numbers.refusal(errno.ERANGE, path)
    if any(not child.cpus <= cpus for child in group.alive):
        raise numbers.refusal(errno.EBUSY, path)
    if not cpus <= group.parent.cpus:
        raise numbers.refusal(errno.EACCES, path)
    if not cpus and occupied(group):
        raise numbers.refusal(errno.ENOSPC, path)


def vet_v2(possible: int, cpus: frozenset[int], path: str) -> None:
    """Checks that the CPUs exist; if none fit, the parent's are used.

    :param possible: the number of CPUs, offline ones too
    """
    if not cpus <= frozenset(range(possible)):
        raise numbers.refusal(errno.ERANGE, path)
