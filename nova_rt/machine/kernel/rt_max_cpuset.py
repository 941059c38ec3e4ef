# SPDX-License-Identifier: Apache-2.0

"""F5: development branches towards RFC v7 (2026): ``cpu.rt.max`` by cpuset.

In contrast to F4, a group has deadline servers only on the CPUs that its
cpuset has when the budget is written.  So a guest is pinned before it gets its
budget, and its budget is released before the guest is pinned to other CPUs.
The kernel admits by CPU.  When a CPU goes offline or the controller cpuset is
switched off, cpusets change but servers stay where they are.  So the budget of
a group is read from its servers.
"""

from collections.abc import Iterable, Iterator
import contextlib
import posixpath
import re

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import rt_max
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tree
from nova_rt.rules import cpulist
from nova_rt.rules import words

LOCAL = 'cpu.rt.max.effective.local'
EFFECTIVE = 'cpuset.cpus.effective'

_LINE = re.compile(r'(\d+) runtime=(\d+|max) period=(\d+)')


class RtMaxCpuset(rt_max.RtMax):
    """The kernel interface F5 (``rt_max_cpuset``); see KernelInterface."""

    name = 'rt_max_cpuset'
    label = 'F5'
    replicated = False
    binds_cpus = True

    _mark = LOCAL

    def prepare(self, ppm: int) -> None:
        with self._explained(self._root):
            self._hand_on(self._root)
        super().prepare(ppm)
        with contextlib.suppress(OSError):
            # The root has a runtime only on the CPUs that were online when
            # its file was written.  The kernel refuses this write while a
            # budget is on a CPU that is offline; nothing is lost then.
            root = rt_max.Max(self._fs, self._root)
            root.set(root.get())

    def capacity(self, ours: str) -> base.Capacity:
        with self._explained(self._root):
            if 'cpuset' not in self._fs.read(
                    posixpath.join(self._root, survey.SUBTREE)).split():
                raise OSError(
                    f'{survey.SUBTREE} of the root group lacks cpuset, so no '
                    f'guest can be kept on its pCPUs; nova-compute enables '
                    f'cpuset at its start and in each audit')
        return super().capacity(ours)

    def settle(self, group: str) -> None:
        path = self._path(group)
        with self._explained(group):
            self._fs.make(path)
            for each in (self._root, path):
                self._hand_on(each)
        super().settle(group)

    def read(self, group: str) -> base.Budget | None:
        """Returns what the kernel grants on each CPU, not what was written."""
        path = self._path(group)
        with self._explained(group):
            try:
                value = self._value(path)
                local = self._local(path) if value.runtime_us else {}
            except OSError as error:
                if cgroup.is_gone(error):
                    return None
                raise
        return base.Budget(local, value.period_us) if local else None

    def _get(self, path: str) -> base.GroupState:
        value = self._value(path)
        own = self._servers(path) if value.runtime_us else frozenset()
        if value.runtime_us and self._is_top(path):
            # Where a removed group still counts, nothing shows the servers.
            own |= self._pinned(path)
        return base.GroupState(
            tuple((value.runtime_us or 0) if cpu in own else 0
                  for cpu in self._cpus), value.period_us)

    def _put(self, journal: rt_journal.Journal, path: str,
             state: base.GroupState) -> None:
        wanted = {cpu for cpu, runtime
                  in zip(self._cpus, state.runtimes, strict=True) if runtime}
        pinned = self._pinned(path)
        # The group of all guests keeps its servers on CPUs that are offline.
        if wanted and wanted != pinned and not (
                self._is_top(path) and wanted > pinned):
            raise OSError(
                f'the group is pinned to '
                f'{words.ids(sorted(pinned), "CPU")} instead of '
                f'{cpulist.format_ids(sorted(wanted))}')
        file = rt_max.Max(self._fs, path)
        value = rt_max.Value(max(state.runtimes), state.period_us)
        if wanted and file.get() == value and (
                pinned - self._servers(path)):
            file.set(value)  # The same numbers bring servers to these CPUs.
        journal.set(file, value)

    def _settle(self, journal: rt_journal.Journal, paths: Iterable[str]
                ) -> None:
        tops = [path for path in paths if self._is_top(path)]
        for path in tops:
            with contextlib.suppress(FileNotFoundError):
                self._bridge(journal, path)
        super()._settle(journal, paths)
        for path in tops:
            file = rt_max.Max(self._fs, path)
            if file.get().runtime_us and (
                    self._pinned(path) - self._servers(path)):
                file.set(file.get())  # A CPU is online again.

    def _bridge(self, journal: rt_journal.Journal, path: str) -> None:
        """Gives numbers to a group of all guests that somebody set to max.

        While the kernel checks this write, it counts for the group only the
        budgets of the groups directly below.  It counts budgets further down
        for the root group, a second time.  Therefore this method also gives
        numbers to the groups in between during the write.  See
        __tg_compute_children_runtime() of the branch.
        """
        if rt_max.Max(self._fs, path).get() != rt_max.INHERITED:
            return
        between = list(self._between(path))
        for group in [*between, path] if between else ():
            journal.set(rt_max.Max(self._fs, group), rt_max.Value(
                max(self.min_runtime_us, *self._total(self._below(group))),
                tree.PARENT_PERIOD_US))
        for group in reversed(between):
            self._clear(journal, group)

    def _between(self, path: str) -> Iterator[str]:
        """Yields groups with max above groups with numbers, deepest first."""
        for child in self._fs.children(path):
            with contextlib.suppress(FileNotFoundError):
                if rt_max.Max(self._fs, child).get() == rt_max.INHERITED and (
                        any(self._configured(child))):
                    yield from self._between(child)
                    yield child

    def _limits(self) -> base.Lanes:
        # A CPU that is offline has no servers, and no claim uses it.
        return (max(super()._limits()),) * len(self._cpus)

    def _parent_lanes(self, path: str, total: base.Lanes) -> base.Lanes:
        # A group has one runtime on all its CPUs.
        most, = super()._parent_lanes(path, (max(total),))
        own = self._pinned(path) | self._servers(path)
        return tuple(most if cpu in own else 0 for cpu in self._cpus)

    def _is_top(self, path: str) -> bool:
        """Checks whether a group may be the top group of all guests."""
        return posixpath.dirname(path) == self._root

    def _servers(self, path: str) -> frozenset[int]:
        """Returns the CPUs on which a group has servers."""
        if path == self._root:
            return self._pinned(path)
        ids = frozenset(self._local(path))
        for child in self._configured(path):
            with contextlib.suppress(FileNotFoundError):
                ids |= self._servers(child)
        return ids

    def _local(self, path: str) -> dict[int, int]:
        """Returns the runtimes that a group has for tasks of its own."""
        text = self._fs.read(posixpath.join(path, LOCAL))
        matches = [_LINE.fullmatch(line) for line in text.splitlines()]
        if None in matches:
            raise ValueError(f'{LOCAL} reads {text!r}')
        return {int(match[1]): int(match[2]) for match in matches
                if match and match[2] not in ('0', 'max')}

    def _pinned(self, path: str) -> frozenset[int]:
        """Returns the CPUs of a group.

        A group without files of the controller cpuset has the CPUs of the
        nearest group above it that has these files.
        """
        while True:
            with contextlib.suppress(FileNotFoundError):
                return frozenset(cpulist.parse_ids(
                    self._fs.read(posixpath.join(path, EFFECTIVE))))
            if path == self._root:
                return frozenset(self._cpus)
            path = posixpath.dirname(path)

    def _hand_on(self, path: str) -> None:
        """Enables the controllers for the groups below a group."""
        file = posixpath.join(path, survey.SUBTREE)
        has = self._fs.read(file).split()
        # Without cpu, the kernel refuses every change of a cpuset.
        for name in ('cpu', 'cpuset'):
            if name not in has:
                self._fs.write(file, f'+{name}')
