# SPDX-License-Identifier: Apache-2.0

"""The rules of cgroup v2 for the places of processes and threads.

Only the controllers cpu and cpuset are emulated; both are threaded.
"""

from collections.abc import Callable
import errno

from tests.emulation import groups
from tests.emulation import numbers

CONTROLLERS = ('cpuset', 'cpu')

#: Tells whether a group itself has tasks.
Occupied = Callable[[groups.Group], bool]


def controllers(group: groups.Group) -> list[str]:
    """Returns the controllers that a group may pass on."""
    given = CONTROLLERS if group.parent is None else group.parent.subtree
    return [name for name in CONTROLLERS if name in given]


def parse(group: groups.Group, text: str, path: str
          ) -> tuple[set[str], set[str]]:
    """Returns (to enable, to disable) of a write to cgroup.subtree_control."""
    enable: set[str] = set()
    disable: set[str] = set()
    for word in text.split():
        if word[1:] not in CONTROLLERS or word[0] not in '+-':
            raise numbers.refusal(errno.EINVAL, path)
        wanted, other = ((enable, disable) if word[0] == '+'
                         else (disable, enable))
        wanted.add(word[1:])
        other.discard(word[1:])
    enable -= group.subtree
    disable &= group.subtree
    if not enable <= set(controllers(group)):
        raise numbers.refusal(errno.ENOENT, path)
    if any(disable & child.subtree for child in group.alive):
        raise numbers.refusal(errno.EBUSY, path)
    return enable, disable


def populated(group: groups.Group, occupied: Occupied) -> bool:
    """Returns whether there are tasks in a group or below."""
    return any(occupied(each) for each in group.walk())


def domain(group: groups.Group) -> groups.Group:
    """Returns the group whose processes have the threads of a group."""
    return next(each for each in group.up() if not each.threaded)


def is_thread_root(group: groups.Group, occupied: Occupied) -> bool:
    """Returns whether a group is the root of a threaded subtree."""
    return not group.threaded and (
        any(child.threaded for child in group.alive)
        or (occupied(group) and bool(group.subtree)))


def can_be_thread_root(group: groups.Group, occupied: Occupied) -> bool:
    """Returns whether a group may become such a root."""
    if group.parent is None:
        return True
    return not group.threaded and not any(
        populated(child, occupied) for child in group.alive
        if not child.threaded)


def is_valid_domain(group: groups.Group, occupied: Occupied) -> bool:
    """Returns whether this is not a domain group below a threaded group."""
    above = list(group.up())[1:]
    return not group.threaded and not any(
        each.threaded or (each.parent is not None
                          and is_thread_root(each, occupied))
        for each in above)


def kind(group: groups.Group, occupied: Occupied) -> str:
    """Returns the contents of cgroup.type."""
    if group.threaded:
        return 'threaded'
    if not is_valid_domain(group, occupied):
        return 'domain invalid'
    if is_thread_root(group, occupied):
        return 'domain threaded'
    return 'domain'


def vet_enable(group: groups.Group, occupied: Occupied, path: str) -> None:
    """Allows controllers below processes only if these may become threaded."""
    if not is_valid_domain(domain(group), occupied):
        raise numbers.refusal(errno.EOPNOTSUPP, path)
    if group.threaded or can_be_thread_root(group, occupied):
        return
    if occupied(group):
        raise numbers.refusal(errno.EBUSY, path)


def vet_threaded(group: groups.Group, occupied: Occupied, path: str) -> None:
    """Checks whether a group may become threaded."""
    assert group.parent is not None
    above = domain(group.parent)
    if populated(group, occupied) or not is_valid_domain(
            above, occupied) or not can_be_thread_root(above, occupied):
        raise numbers.refusal(errno.EOPNOTSUPP, path)


def vet_move(group: groups.Group, source: groups.Group, whole: bool,
             occupied: Occupied, path: str) -> None:
    """Checks whether a process (*whole*) or one thread may enter *group*."""
    if not is_valid_domain(domain(group), occupied):
        raise numbers.refusal(errno.EOPNOTSUPP, path)
    if not whole and domain(group) is not domain(source):
        raise numbers.refusal(errno.EOPNOTSUPP, path)
    if group.threaded or can_be_thread_root(group, occupied):
        return
    if group.subtree:
        raise numbers.refusal(errno.EBUSY, path)
