# SPDX-License-Identifier: Apache-2.0

"""F4: the HCBS patches posted as RFC v6 (2026): ``cpu.rt.max``, cgroup v2.

One file has both values.  A group with ``max`` runs its real-time tasks within
the budget of its nearest ancestor with numbers, or without a reservation if no
ancestor has numbers.  So the top group of the guests always has numbers, the
sum of the guests' budgets.  A new guest therefore has no room to run in real
time before it gets its own budget.  A group with a runtime of 0 takes no
real-time tasks.  The interface is replicated.

The root group may have no file (a maintainer of the kernel does not want this
file).  If the root group has no file, the kernel hands out the bandwidth that
the sysctls allow and its own deadline servers leave.
"""

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import dataclasses
import posixpath
from typing import ClassVar

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import servers
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import tree
from nova_rt.machine.kernel import two_files

MAX = 'cpu.rt.max'
INTERNAL = 'cpu.rt.internal'


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """The value of the file; a runtime of None is ``max``."""

    runtime_us: int | None
    period_us: int

    def __str__(self) -> str:
        runtime = 'max' if self.runtime_us is None else self.runtime_us
        return f'{runtime} {self.period_us}'


#: The value of new groups; writing it releases a budget.
INHERITED = Value(None, 0)
#: The value of a group that may have no real-time tasks.
NOTHING = Value(0, tree.PARENT_PERIOD_US)


class Max:
    """The file of a group."""

    def __init__(self, fs: cgroup.CgroupFS, group: str) -> None:
        self._fs = fs
        self.path = posixpath.join(group, MAX)

    def get(self) -> Value:
        runtime, period = self._fs.read(self.path).split()
        if runtime == 'max':
            return INHERITED
        return Value(int(runtime), int(period))

    def set(self, value: Value) -> None:
        # The period is always written, too: some kernels take a period that
        # is left out from uninitialised memory.
        self._fs.write(self.path, str(value))


class RtMax(tree.TreeInterface):
    """The kernel interface F4 (``cpu.rt.max``); see KernelInterface."""

    name = 'rt_max'
    label = 'F4'
    file = MAX
    replicated = True
    drains = True
    deadline_servers = True
    inherits = True
    min_runtime_us = 2
    min_period_us = 100

    #: a file of new groups that tells this version from others
    _mark: ClassVar[str] = INTERNAL

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return survey.in_group(MAX) and survey.in_group(cls._mark)

    def prepare(self, ppm: int) -> None:
        with self._changing([]) as journal:
            # A root group without the file already hands out bandwidth.
            if not self._value(self._root).runtime_us:
                two_files.seed(
                    lambda share: journal.set(
                        Max(self._fs, self._root),
                        Value(share, tree.PARENT_PERIOD_US)),
                    min(ppm, self._limit()))

    def settle(self, group: str) -> None:
        with self._explained(group):
            # The group is made before libvirt makes it, so that no guest
            # starts without numbers above it.
            self._fs.make(self._path(group))
        super().settle(group)

    def forbid(self, groups: Iterable[str]) -> None:
        paths = [self._path(group) for group in groups]
        with self._changing(paths) as journal:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    if Max(self._fs, path).get() == INHERITED:
                        journal.set(Max(self._fs, path), NOTHING)

    def _value(self, path: str) -> Value:
        """Returns the value of a group, also of a root without the file."""
        try:
            return Max(self._fs, path).get()
        except FileNotFoundError:
            if path != self._root:
                raise
            return Value(max(0, self._limit() - servers.ppm(
                self._fs, self._cpus)), tree.PARENT_PERIOD_US)

    def _get(self, path: str) -> base.GroupState:
        value = self._value(path)
        return base.GroupState((value.runtime_us or 0,), value.period_us)

    def _set(self, journal: rt_journal.Journal,
             leaves: Mapping[str, base.GroupState]) -> None:
        for path in leaves:
            # A group of 0 has no room for a group below it.
            for above in super()._parents(path)[1:]:
                with contextlib.suppress(FileNotFoundError):
                    if Max(self._fs, above).get() == NOTHING:
                        journal.set(Max(self._fs, above), INHERITED)
        super()._set(journal, leaves)

    def _put(self, journal: rt_journal.Journal, path: str,
             state: base.GroupState) -> None:
        journal.set(Max(self._fs, path),
                    Value(state.runtimes[0], state.period_us))

    def _clear(self, journal: rt_journal.Journal, path: str) -> None:
        journal.set(Max(self._fs, path), INHERITED)

    def _settle(self, journal: rt_journal.Journal, paths: Iterable[str]
                ) -> None:
        super()._settle(journal, paths)
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                # A group that hands out nothing gets 0: with max its tasks
                # would run within the budget of the root.
                if Max(self._fs, path).get() == INHERITED:
                    journal.set(Max(self._fs, path), NOTHING)

    def _parents(self, path: str) -> list[str]:
        return super()._parents(path)[:1]  # The others stay at max.

    def _below(self, path: str) -> list[str]:
        return list(self._configured(path))

    def _configured(self, path: str) -> Iterator[str]:
        """Yields the nearest groups below *path* with numbers."""
        for child in self._fs.children(path):
            with contextlib.suppress(FileNotFoundError):
                if Max(self._fs, child).get() != INHERITED:
                    yield child
                else:
                    yield from self._configured(child)
