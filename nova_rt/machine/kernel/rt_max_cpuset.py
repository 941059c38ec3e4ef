# SPDX-License-Identifier: Apache-2.0

"""F5: development branches towards RFC v7 (2026): ``cpu.rt.max`` by cpuset.

F5 differs from F4 in this: a group has deadline servers only on the CPUs that
its cpuset has when the budget is written.  So a guest is pinned first and
reserved second, and its budget is released before it is pinned anew.  The
kernel admits by CPU.
"""

import posixpath
import re

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import rt_max
from nova_rt.rules import cpulist

LOCAL = 'cpu.rt.max.effective.local'
EFFECTIVE = 'cpuset.cpus.effective'

_LINE = re.compile(r'(\d+) runtime=(\d+|max) period=(\d+)')


class RtMaxCpuset(rt_max.RtMax):
    """F5 as a kernel interface; see KernelInterface."""

    name = 'rt_max_cpuset'
    label = 'F5'
    replicated = False
    binds_cpus = True

    _mark = LOCAL

    def read(self, group: str) -> base.Budget | None:
        """Returns what the kernel grants on each CPU, not what was written."""
        asked = super().read(group)
        if asked is None:
            return None
        with self._explained(group):
            text = self._fs.read(posixpath.join(self._path(group), LOCAL))
            found = [_LINE.fullmatch(line) for line in text.splitlines()]
            if None in found:
                raise ValueError(f'{LOCAL} reads {text!r}')
            runtimes = {int(match[1]): int(match[2]) for match in found
                        if match and match[2] not in ('0', 'max')}
        return base.Budget(runtimes, asked.period_us)

    def _get(self, path: str) -> base.GroupState:
        value = rt_max.Max(self._fs, path).get()
        own = self._pinned(path) if value.runtime_us else ()
        return base.GroupState(
            tuple((value.runtime_us or 0) if cpu in own else 0
                  for cpu in self._cpus), value.period_us)

    def _put(self, journal: rt_journal.Journal, path: str,
             held: base.GroupState) -> None:
        wanted = tuple(cpu for cpu, runtime
                       in zip(self._cpus, held.runtimes, strict=True)
                       if runtime)
        pinned = self._pinned(path)
        # A parent holds a runtime on all CPUs, of which some may be offline.
        if wanted not in ((), pinned, self._cpus):
            raise OSError(
                f'the group is pinned to the CPUs '
                f'{cpulist.format_ids(pinned)} instead of '
                f'{cpulist.format_ids(wanted)}')
        journal.set(rt_max.Max(self._fs, path),
                    rt_max.Value(max(held.runtimes), held.period_us))

    def _limits(self) -> base.Lanes:
        # A CPU that is offline has no servers, and no claim uses it.
        return (max(super()._limits()),) * len(self._cpus)

    def _parent_lanes(self, path: str, total: base.Lanes) -> base.Lanes:
        # A group has one runtime on all its CPUs.
        return super()._parent_lanes(path, (max(total),) * len(total))

    def _pinned(self, path: str) -> tuple[int, ...]:
        return cpulist.parse_ids(
            self._fs.read(posixpath.join(path, EFFECTIVE)))
