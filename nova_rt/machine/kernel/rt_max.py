# SPDX-License-Identifier: Apache-2.0

"""F4: the HCBS patches posted as RFC v6 (2026): ``cpu.rt.max``, cgroup v2.

One file has both values.  A group with ``max`` runs its real-time tasks within
the budget of its nearest ancestor with numbers, or without a reservation if no
ancestor has numbers.  So the top group of the guests always has numbers, the
sum of the guests' budgets: a new guest finds no room to run in real time until
it gets its own budget.  The interface is replicated.
"""

from collections.abc import Iterable, Iterator
import contextlib
import dataclasses
import posixpath
from typing import ClassVar

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
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

    def takes(self, old: Value, new: Value) -> bool:
        return bool(old.runtime_us) and not new.runtime_us


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
            root = Max(self._fs, self._root)
            if not root.get().runtime_us:
                two_files.seed(
                    lambda share: journal.set(
                        root, Value(share, tree.PARENT_PERIOD_US)),
                    min(ppm, self._limit()))

    def settle(self, group: str) -> None:
        with self._explained(group):
            # The group is made before libvirt makes it, so that no guest
            # starts without numbers above it.
            self._fs.make(self._path(group))
        super().settle(group)

    def _get(self, path: str) -> base.GroupState:
        value = Max(self._fs, path).get()
        return base.GroupState((value.runtime_us or 0,), value.period_us)

    def _put(self, journal: rt_journal.Journal, path: str,
             held: base.GroupState) -> None:
        journal.set(Max(self._fs, path),
                    Value(held.runtimes[0], held.period_us))

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
                    journal.set(Max(self._fs, path),
                                Value(0, tree.PARENT_PERIOD_US))

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
