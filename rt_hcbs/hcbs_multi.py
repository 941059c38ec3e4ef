# SPDX-License-Identifier: Apache-2.0

"""F2m: HCBS patches with ``cpu.rt_multi_runtime_us``, a runtime for each CPU.

The paper uses this interface (section 5.2).  Only the claimed CPUs of a server
are charged.  A group has one period for all CPUs.
"""

from collections.abc import Mapping
import errno
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import two_files
from rt_hcbs import fragile

#: Old kernels refuse 0 for a CPU; the smallest value that they accept stands
#: for 0.
_TOKEN_US = 2


class MultiRuntime:
    """The file with a runtime for each CPU.

    The file is read as ``RUNTIME RUNTIME ...``  and written as ``CPU RUNTIME
    CPU RUNTIME ...``.  CPUs that are not named keep their runtimes.
    """

    def __init__(self, fs: cgroup.CgroupFS, group: str,
                 cpus: tuple[int, ...]) -> None:
        self._fs = fs
        self._cpus = cpus
        self.path = posixpath.join(group, two_files.MULTI)

    def get(self) -> base.Lanes:
        return tuple(0 if 0 <= runtime <= _TOKEN_US else runtime
                     for runtime in self.raw())

    def raw(self) -> base.Lanes:
        """Returns the values as they are read; some of them mean 0."""
        values = tuple(map(int, self._fs.read(self.path).split()))
        if len(values) != len(self._cpus):
            raise ValueError(f'{self.path} has {len(values)} values for '
                             f'{len(self._cpus)} CPUs')
        return values

    def set(self, value: base.Lanes) -> None:
        changed = [(cpu, new) for cpu, old, new
                   in zip(self._cpus, self.get(), value, strict=True)
                   if old != new]
        try:
            self._write(changed)
        except OSError as error:
            if error.errno != errno.EINVAL or cgroup.is_short(error) or all(
                    new for _, new in changed):
                raise
            self._write([(cpu, new or _TOKEN_US) for cpu, new in changed])

    def _write(self, pairs: list[tuple[int, int]]) -> None:
        self._fs.write(self.path,
                       ' '.join(f'{cpu} {runtime}' for cpu, runtime in pairs))


class HcbsMulti(fragile.FragileFiles):
    """The kernel interface F2m (``hcbs_multi``); see KernelInterface."""

    name = 'hcbs_multi'
    label = 'F2m'
    file = two_files.MULTI
    writes: Mapping[str, str] = {two_files.MULTI: r'[-0-9, ]{1,65536}'}
    replicated = False
    #: more than the value that stands for 0
    min_runtime_us = _TOKEN_US + 1

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return survey.in_group(two_files.MULTI)

    def _runtime(self, path: str) -> MultiRuntime:
        return MultiRuntime(self._fs, path, self._cpus)

    def _clear(self, journal: rt_journal.Journal, path: str) -> None:
        super()._clear(journal, path)
        if any(self._runtime(path).raw()):
            # In a long period the value that stands for 0 counts least.
            journal.set(self._period(path), self.max_period_us)

    def _counted(self, path: str) -> base.GroupState:
        return base.GroupState(self._runtime(path).raw(),
                               self._period(path).get())

    def _expected(self, path: str, state: base.GroupState) -> base.Lanes:
        return base.GroupState(
            tuple(new or min(old, _TOKEN_US) for old, new in zip(
                self._runtime(path).raw(), state.runtimes, strict=True)),
            state.period_us).ppm
