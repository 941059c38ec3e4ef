# SPDX-License-Identifier: Apache-2.0

"""Parts of interfaces with one file for runtimes and one for periods.

These interfaces read values in the same way, and have the same order of the
two writes.
"""

from collections.abc import Callable
import errno
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import tree
from nova_rt.rules import reservation

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
MULTI = 'cpu.rt_multi_runtime_us'

#: The bandwidth of each CPU that deadline servers of other scheduling classes
#: may hold (5 %).
_SERVER_PPM = 50_000
_SEED_TRIES = 19


class Runtime:
    """The file of the runtime: one number for all CPUs, one lane."""

    def __init__(self, fs: cgroup.CgroupFS, group: str) -> None:
        self._fs = fs
        self.path = posixpath.join(group, RUNTIME)

    def get(self) -> base.Lanes:
        return (int(self._fs.read(self.path)),)

    def set(self, value: base.Lanes) -> None:
        self._fs.write(self.path, str(value[0]))


class Period:
    """The file of the period: one number."""

    def __init__(self, fs: cgroup.CgroupFS, group: str) -> None:
        self._fs = fs
        self.path = posixpath.join(group, PERIOD)

    def get(self) -> int:
        return int(self._fs.read(self.path))

    def set(self, value: int) -> None:
        self._fs.write(self.path, str(value))


class TwoFiles(tree.TreeInterface):
    """A tree with two files for each group; see TreeInterface."""

    def _runtime(self, path: str) -> rt_journal.Cell:
        return Runtime(self._fs, path)

    def _period(self, path: str) -> rt_journal.Cell:
        return Period(self._fs, path)

    def _get(self, path: str) -> base.GroupState:
        return base.GroupState(self._runtime(path).get(),
                               self._period(path).get())

    def _put(self, journal: rt_journal.Journal, path: str,
             state: base.GroupState) -> None:
        # The kernel admits each write with the other value unchanged: a
        # longer period lowers the share, and a shorter one raises it.
        period = self._period(path)
        runtime = self._runtime(path)
        if state.period_us > period.get() or not any(runtime.get()):
            journal.set(period, state.period_us)
        journal.set(runtime, state.runtimes)
        if any(state.runtimes):
            journal.set(period, state.period_us)

    def _seed(self, ppm: int) -> None:
        """Gives up to *ppm* to a root group that starts without a budget."""
        with self._changing([]) as journal:
            if any(self._get(self._root).runtimes):
                return
            lanes = len(self._lanes)
            seed(lambda share: self._put(journal, self._root, base.GroupState(
                (share,) * lanes, tree.PARENT_PERIOD_US)),
                min(ppm, self._limit()))


def seed(put: Callable[[int], None], ppm: int) -> None:
    """Calls *put* with the largest share that SCHED_DEADLINE tasks leave.

    :param ppm: the share to begin with
    :raises OSError: when these tasks leave nothing, or when *put* fails for
        another reason
    """
    for attempt in range(_SEED_TRIES):
        share = min(ppm, reservation.PPM) - attempt * _SERVER_PPM
        try:
            return put(share)
        except OSError as error:
            if error.errno != errno.EBUSY or attempt == _SEED_TRIES - 1:
                raise
